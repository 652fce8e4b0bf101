// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// narrow is a priority level of the host that lets one request through at a time, and who
// has to go that way.
const narrow = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: "narrow-%[1]s"}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: "narrow-%[1]s"}
spec:
  priorityLevelConfiguration: {name: "narrow-%[1]s"}
  matchingPrecedence: 2
  rules:
  - subjects: [{kind: User, user: {name: "greedy-%[1]s"}}]
    resourceRules: [{apiGroups: [core.convoy.kumodo.io], resources: ["*"], verbs: ["*"], namespaces: ["*"]}]
`

var _ = Describe("Priority and fairness", func() {
	It("are those that the host is configured with: who is to be held back is, and nobody else", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		suite.createRelease(ctx, namespace, "app")
		for _, name := range []string{"greedy-" + namespace, "modest-" + namespace} {
			suite.grant(ctx, namespace, name, "*", "get")
		}
		one := suite.replicas[0]
		greedy, modest := suite.user("greedy-"+namespace).at(one), suite.user("modest-"+namespace).at(one)
		path := releasePath(namespace, "app")
		suite.applyYAML(ctx, fmt.Sprintf(narrow, namespace))
		schema := field(suite.admin.get(ctx, "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/narrow-"+namespace).object(), "metadata.uid")
		Eventually(ctx, func() string { return greedy.get(ctx, path).header.Get("X-Kubernetes-Pf-Flowschema-Uid") }).Should(Equal(schema))
		Eventually(ctx, func() int { return greedy.get(ctx, path).code }).Should(Equal(http.StatusOK))

		By("while one request of theirs is worked on, the next is refused")
		arrived, released := make(chan struct{}), make(chan struct{})
		release := sync.OnceFunc(func() { close(released) })
		DeferCleanup(func(context.Context) { release() })
		suite.observer.answerWith(func(w http.ResponseWriter, _ *http.Request) {
			close(arrived)
			<-released
			w.Header().Set("Content-Type", jsonType)
			_, _ = io.WriteString(w, `{"kind":"ReleasePreview"}`)
		})
		slow := make(chan answer, 1)
		go func() {
			defer GinkgoRecover()
			slow <- greedy.get(ctx, releasePath(namespace, "app", "preview"))
		}()
		Eventually(ctx, arrived).Should(BeClosed())
		got := greedy.get(ctx, path)
		Expect(got.code).To(Equal(http.StatusTooManyRequests), got.body)
		Expect(got.header.Get("Retry-After")).NotTo(BeEmpty())
		Expect(modest.get(ctx, path).code).To(Equal(http.StatusOK), "others go on")
		release()
		Expect((<-slow).code).To(Equal(http.StatusOK))
		Eventually(ctx, func() int { return greedy.get(ctx, path).code }).Should(Equal(http.StatusOK))
	})
})
