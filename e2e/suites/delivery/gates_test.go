// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var _ = Describe("Gates", func() {
	It("let through what was approved, and nothing else", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"app/a.yaml": scenario.ConfigMap("a", "v", "1")})
		release := n.GitRelease("app", scenario.Edge, "app")
		release.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "qa", Before: "sync"}, {Name: "ops", Before: "sync"}}}
		n.Create(ctx, release)
		first := awaitAtGate(ctx, n, "qa", "")
		Expect(first.Revision).To(HavePrefix("main@sha1:"))
		Expect(n.Data(ctx, "a")()).To(BeNil())

		_, errOut, code := approve(ctx, n, `{"name":"quality","approved":true}`)
		Expect(code).NotTo(BeZero())
		Expect(errOut).To(ContainSubstring("spec.lifecycle.gates has qa, ops"))

		_, errOut, code = approve(ctx, n, `{"name":"qa","approved":true}`)
		Expect(code).To(BeZero(), errOut)
		n.Commit(ctx, map[string]string{"app/a.yaml": scenario.ConfigMap("a", "v", "2")})
		n.Sync(ctx, "app")
		second := awaitAtGate(ctx, n, "qa", first.Render)
		Expect(second.Approved).To(BeFalse(), "the approval was for something else")
		Expect(n.Data(ctx, "a")()).To(BeNil())

		_, errOut, code = approve(ctx, n, fmt.Sprintf(`{"name":"qa","approved":true,"render":%q}`, first.Render))
		Expect(code).NotTo(BeZero())
		Expect(errOut).To(ContainSubstring("is not what waits at gate qa"))

		for _, gate := range []string{"qa", "ops"} {
			_, errOut, code = approve(ctx, n, fmt.Sprintf(`{"name":%q,"approved":true,"render":%q}`, gate, second.Render))
			Expect(code).To(BeZero(), errOut)
		}
		n.AwaitReady(ctx, "app")
		Expect(n.Data(ctx, "a")()).To(HaveKeyWithValue("v", "2"))
		past := n.Release(ctx, "app").Status.History
		Expect(past).To(HaveLen(1))
		Expect(past[0].Approvals).To(ConsistOf(
			And(HaveField("Gate", "qa"), HaveField("By", Not(BeEmpty()))), HaveField("Gate", "ops")))

		_, errOut, code = approve(ctx, n, `{"name":"qa","approved":true,"render":"sha256:of-the-next"}`)
		Expect(code).NotTo(BeZero(), "there is no approval ahead of time")
		Expect(errOut).To(ContainSubstring("status.lifecycle.gates[0].render"))
	}, NodeTimeout(3*time.Minute))
})

func approve(ctx context.Context, n *scenario.Namespace, gate string) (out, errOut string, code int) {
	return n.Kubectl(ctx, "-n", n.Name, "patch", "release", "app", "--subresource=lifecycle", "--type=merge",
		"-p", `{"status":{"lifecycle":{"gates":[`+gate+`]}}}`)
}

// awaitAtGate waits for another render than the given one to wait at a gate.
func awaitAtGate(ctx context.Context, n *scenario.Namespace, name, other string) corev1alpha1.GateStatus {
	var found corev1alpha1.GateStatus
	Eventually(ctx, func(g Gomega) {
		lifecycle := n.Release(ctx, "app").Status.Lifecycle
		g.Expect(lifecycle).NotTo(BeNil())
		for _, gate := range lifecycle.Gates {
			if gate.Name == name {
				found = gate
			}
		}
		g.Expect(found.Render).NotTo(Or(BeEmpty(), Equal(other)))
	}).Should(Succeed())
	n.AwaitCondition(ctx, "app", corev1alpha1.ConditionReady, metav1.ConditionFalse)
	return found
}
