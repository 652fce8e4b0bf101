// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// unions are manifests with members of unions, and items of lists that have the names of others.
const unions = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:1
        env:
        - {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: C, value: c}
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {path: /, port: 8080}}
        volumeMounts: [{name: scratch, mountPath: /scratch}]
      volumes: [{name: scratch, emptyDir: {}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: one}
spec:
  replicas: 0
  strategy: {type: Recreate}
  selector: {matchLabels: {app: one}}
  template:
    metadata: {labels: {app: one}}
    spec: {containers: [{name: one, image: one:1}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: plain}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	services    = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	budgets     = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}
)

// What people change here is in the server's eyes a valid object of its own, and server-side
// apply leaves it beside what is desired, which the server then refuses: nothing of that is a
// field that cannot change.
var _ = Describe("Drift that server-side apply cannot undo by itself", Ordered, func() {
	var s *scene
	BeforeAll(func(ctx SpecContext) {
		s = &scene{Namespace: suite.NewNamespace(ctx, map[string]string{"app/all.yaml": unions}), target: targetDynamic()}
		release := s.GitRelease(app, scenario.Edge, "app")
		release.Spec.Sync.Replace = corev1alpha1.ReplaceOnImmutable // which must never be used
		s.Create(ctx, release)
		s.AwaitReady(ctx, app)
		s.AwaitCondition(ctx, app, corev1alpha1.ConditionInSync, metav1.ConditionTrue)
	}, NodeTimeout(scenario.StartTimeout))

	of := func(resource schema.GroupVersionResource) dynamic.ResourceInterface {
		return s.target.Resource(resource).Namespace(s.Name)
	}
	const container = "/spec/template/spec/containers/0"

	DescribeTable("is told and corrected in place", func(spec SpecContext, resource schema.GroupVersionResource, name, patch, message string) {
		ctx, cancel := context.WithTimeout(spec, scenario.Timeout)
		defer cancel()
		before, err := of(resource).Get(ctx, name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		events := s.events(ctx)
		_, err = of(resource).Patch(ctx, name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "hand"})
		Expect(err).NotTo(HaveOccurred())
		told := insync(ctx, events, metav1.ConditionFalse)
		Expect(told.Reason).To(Equal(corev1alpha1.ReasonDrifted))
		Expect(told.Message).To(And(ContainSubstring(strings.ReplaceAll(message, "$ns", s.Name)), ContainSubstring("(field manager hand)"), HaveSuffix("a sync is requested")))
		insync(ctx, events, metav1.ConditionTrue)
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			after, err := of(resource).Get(ctx, name, metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(after.GetUID()).To(Equal(before.GetUID()), "it is not replaced")
			g.Expect(after.Object["spec"]).To(Equal(before.Object["spec"]))
		}).WithArguments(ctx).Should(Succeed())
		s.AwaitReady(ctx, app)
	},
		Entry("a variable with a value in place of one from elsewhere", deployments, "web",
			`[{"op":"replace","path":"`+container+`/env/0","value":{"name":"B","value":"x"}}]`, "Deployment $ns/web differs in "+container+"/env/0/value"),
		Entry("a variable from elsewhere in place of one with a value", deployments, "web",
			`[{"op":"replace","path":"`+container+`/env/1","value":{"name":"C","valueFrom":{"fieldRef":{"fieldPath":"metadata.uid"}}}}]`, "Deployment $ns/web differs in "+container+"/env/1/value"),
		Entry("another number for a named port of a container", deployments, "web",
			`[{"op":"replace","path":"`+container+`/ports/0/containerPort","value":9090}]`, "Deployment $ns/web differs in "+container+"/ports/0/containerPort"),
		Entry("another kind of probe", deployments, "web",
			`[{"op":"remove","path":"`+container+`/readinessProbe/httpGet"},{"op":"add","path":"`+container+`/readinessProbe/tcpSocket","value":{"port":8080}}]`,
			"Deployment $ns/web differs in "+container+"/readinessProbe/"),
		Entry("another kind of volume", deployments, "web",
			`[{"op":"replace","path":"/spec/template/spec/volumes/0","value":{"name":"scratch","hostPath":{"path":"/etc"}}}]`,
			"Deployment $ns/web differs in /spec/template/spec/volumes/0/"),
		Entry("another strategy", deployments, "one", `[{"op":"replace","path":"/spec/strategy","value":{"type":"RollingUpdate"}}]`, "Deployment $ns/one differs in /spec/strategy/"),
		Entry("another number for a named port of a Service", services, "web", `[{"op":"replace","path":"/spec/ports/0/port","value":81}]`,
			"Service $ns/web differs in /spec/ports/0/port"),
		Entry("another protocol for a named port of a Service", services, "web", `[{"op":"replace","path":"/spec/ports/0/protocol","value":"UDP"}]`,
			"Service $ns/web differs in /spec/ports/0/protocol"),
		Entry("another number for the only port of a Service, which has no name", services, "plain", `[{"op":"replace","path":"/spec/ports/0/port","value":81}]`,
			"Service $ns/plain differs in /spec/ports/0/port"),
		Entry("another protocol for the only port of a Service, which has no name", services, "plain", `[{"op":"replace","path":"/spec/ports/0/protocol","value":"UDP"}]`,
			"Service $ns/plain differs in /spec/ports/0/protocol"),
		Entry("another bound of a disruption budget", budgets, "web", `[{"op":"remove","path":"/spec/minAvailable"},{"op":"add","path":"/spec/maxUnavailable","value":1}]`,
			"PodDisruptionBudget $ns/web differs in /spec/maxUnavailable"),
	)

	It("leaves what others have elsewhere", func(ctx SpecContext) {
		_, err := of(deployments).Patch(ctx, "web", types.JSONPatchType, []byte(`[
			{"op":"replace","path":"`+container+`/env/0","value":{"name":"B","value":"x"}},
			{"op":"add","path":"`+container+`/env/-","value":{"name":"MORE","value":"1"}},
			{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"sidecar","image":"sidecar:1"}}]`), metav1.PatchOptions{FieldManager: "hand"})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			live, err := s.TargetClient.AppsV1().Deployments(s.Name).Get(ctx, "web", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(live.Spec.Template.Spec.Containers).To(HaveLen(2))
			env := live.Spec.Template.Spec.Containers[0].Env
			g.Expect(env).To(ConsistOf(And(HaveField("Name", "B"), HaveField("Value", "")), HaveField("Name", "C"), HaveField("Name", "MORE")))
		}).WithArguments(ctx).Should(Succeed())
		s.AwaitReady(ctx, app)
		s.AwaitCondition(ctx, app, corev1alpha1.ConditionInSync, metav1.ConditionTrue)
	}, NodeTimeout(scenario.Timeout))
})
