// SPDX-License-Identifier: Apache-2.0

package look

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

var _ = Describe("A preview", func() {
	It("of a first installation tells of namespaces and kinds that the same sync makes", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, nil)
		group := n.Name + ".example.com"
		n.Commit(ctx, map[string]string{
			"a/all.yaml": strings.ReplaceAll(definition, "GROUP", group) +
				"---\n{apiVersion: v1, kind: Namespace, metadata: {name: " + n.Name + "-new}}\n" +
				"---\n{apiVersion: v1, kind: ConfigMap, metadata: {namespace: " + n.Name + "-new, name: inside}}\n" +
				"---\n{apiVersion: " + group + "/v1, kind: Widget, metadata: {name: w}}\n",
		})
		n.Create(ctx, held(n, "web", "a"))
		Expect(steps(preview(ctx, n, "web", corev1alpha1.ReleasePreviewOptions{}))).To(ConsistOf(
			"create CustomResourceDefinition widgets."+group, "create Namespace "+n.Name+"-new",
			"create ConfigMap inside simulated", "create Widget w simulated",
		))
		_, errOut, code := n.Kubectl(ctx, "convoy", "-n", n.Name, "preview", "web")
		Expect(code).To(Equal(1), errOut)
	}, NodeTimeout(limit))

	It("of an object of kubectl's shows what goes when it is adopted, and the sync does just that", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/s.yaml": `apiVersion: v1
kind: Service
metadata: {name: s}
spec: {selector: {app: x}, ports: [{port: 80, name: web}]}
`})
		manifest := `apiVersion: v1
kind: Service
metadata: {name: s, namespace: ` + n.Name + `, labels: {legacy: "1"}}
spec: {type: ClusterIP, sessionAffinity: ClientIP, selector: {app: x}, ports: [{port: 80, name: web}, {port: 81, name: more}]}
`
		out, errOut, code := n.KubectlWith(ctx, manifest, []string{"KUBECONFIG=" + n.Target.AdminKubeconfig()}, "apply", "-f", "-")
		Expect(code).To(BeZero(), out+errOut)
		_, err := n.TargetClient.CoreV1().Services(n.Name).Patch(ctx, "s", "application/merge-patch+json",
			[]byte(`{"metadata":{"labels":{"others":"1"}}}`), metav1.PatchOptions{FieldManager: "somebody"})
		Expect(err).NotTo(HaveOccurred())

		n.Create(ctx, held(n, "web", "a"))
		found := preview(ctx, n, "web", corev1alpha1.ReleasePreviewOptions{})
		Expect(steps(found)).To(Equal([]string{"update Service s"}))
		Expect(changes(found.Objects[0])).To(ContainElements(
			ContainSubstring("last-applied-configuration: "), `/metadata/labels/legacy: "1" -> `,
			HavePrefix("/spec/ports/1: "), `/spec/sessionAffinity: "ClientIP" -> "None"`,
		))
		Expect(changes(found.Objects[0])).NotTo(ContainElement(Or(ContainSubstring("/spec/type"), ContainSubstring("others"), ContainSubstring("/spec/ports/0"))),
			"defaults, and what others wrote, stay")

		n.Sync(ctx, "web")
		n.AwaitReady(ctx, "web")
		service, err := n.TargetClient.CoreV1().Services(n.Name).Get(ctx, "s", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(service.Spec.Ports).To(HaveLen(1))
		Expect(service.Spec.SessionAffinity).To(BeEquivalentTo("None"))
		Expect(service.Labels).To(And(HaveKey("others"), Not(HaveKey("legacy"))))
		after := preview(ctx, n, "web", corev1alpha1.ReleasePreviewOptions{})
		Expect(steps(after)).To(Equal([]string{"unchanged Service s"}))
		Expect(after.Plan).NotTo(Equal(found.Plan))
	}, NodeTimeout(limit))

	It("says what admission refuses, and which fields are others'", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{
			"a/denied.yaml":    scenario.ConfigMap("denied", "v", "1"),
			"a/contested.yaml": scenario.ConfigMap("contested", "v", "1"),
		})
		deny(ctx, n, "denied")
		_, err := n.TargetClient.CoreV1().ConfigMaps(n.Name).Patch(ctx, "contested", "application/apply-patch+yaml",
			[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"contested"},"data":{"v":"2"}}`), metav1.PatchOptions{FieldManager: "somebody"})
		Expect(err).NotTo(HaveOccurred())
		release := held(n, "web", "a")
		release.Spec.Sync.Conflicts = corev1alpha1.ConflictsFail
		n.Create(ctx, release)
		Eventually(ctx, func() []string { return steps(preview(ctx, n, "web", corev1alpha1.ReleasePreviewOptions{})) }).Should(Equal([]string{
			"update ConfigMap contested ApplyConflict", "error ConfigMap denied Denied",
		}), "a policy holds a moment after it was written")
		found := preview(ctx, n, "web", corev1alpha1.ReleasePreviewOptions{})
		Expect(found.Objects[0].Changes).To(ContainElement(And(HaveField("Path", "/data/v"), HaveField("Manager", "somebody"))))
		Expect(found.Objects[1].Message).To(ContainSubstring("not on my watch"))
		_, errOut, code := n.Kubectl(ctx, "convoy", "-n", n.Name, "preview", "web")
		Expect(code).To(Equal(2))
		Expect(errOut).To(ContainSubstring("1 object could not be compared"))
	}, NodeTimeout(limit))

	It("of a forced sync recreates what cannot be changed", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"a/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\nimmutable: true\ndata: {v: '1'}\n"})
		n.Create(ctx, held(n, "web", "a"))
		n.Sync(ctx, "web")
		n.AwaitReady(ctx, "web")
		n.Commit(ctx, map[string]string{"a/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\nimmutable: true\ndata: {v: '2'}\n"})
		Eventually(ctx, func() []string { return steps(preview(ctx, n, "web", corev1alpha1.ReleasePreviewOptions{})) }).
			Should(Equal([]string{"error ConfigMap cm ImmutableField"}))
		Expect(steps(preview(ctx, n, "web", corev1alpha1.ReleasePreviewOptions{Force: true}))).To(Equal([]string{"recreate ConfigMap cm"}))
		n.MustKubectl(ctx, "convoy", "-n", n.Name, "sync", "web", "--force")
		Eventually(ctx, n.Data(ctx, "cm")).Should(HaveKeyWithValue("v", "2"))
	}, NodeTimeout(limit))

	It("tells on both sides what moves between Releases", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{
			"a/keep.yaml": scenario.ConfigMap("keep-a", "v", "1"), "a/x.yaml": scenario.ConfigMap("x", "v", "1"), "a/gone.yaml": scenario.ConfigMap("gone", "v", "1"),
			"b/keep.yaml": scenario.ConfigMap("keep-b", "v", "1"),
		})
		for _, name := range []string{"a", "b"} {
			release := n.GitRelease(name, scenario.Edge, name)
			release.Spec.Sync.Interval = &metav1.Duration{Duration: 10 * limit} // nobody looks before it is asked
			n.Create(ctx, release)
			n.AwaitReady(ctx, name)
		}
		n.Commit(ctx, map[string]string{"b/x.yaml": scenario.ConfigMap("x", "v", "2")}, "a/x.yaml", "a/gone.yaml")
		Eventually(ctx, func() []string { return steps(preview(ctx, n, "a", corev1alpha1.ReleasePreviewOptions{})) }).
			Should(ConsistOf("unchanged ConfigMap keep-a", "unchanged ConfigMap x", "delete ConfigMap gone"))
		for _, object := range preview(ctx, n, "a", corev1alpha1.ReleasePreviewOptions{}).Objects {
			if object.Name == "x" {
				Expect(object.Message).To(Equal("moves to Release b, and stays until that has taken it over"))
			}
		}
		other := preview(ctx, n, "b", corev1alpha1.ReleasePreviewOptions{})
		Expect(steps(other)).To(ConsistOf("unchanged ConfigMap keep-b", "update ConfigMap x"))
		Expect(other.Objects).To(ContainElement(HaveField("Message", "moves here from Release "+n.Name+"/a")))

		n.Update(ctx, "b", func(r *corev1alpha1.Release) { r.Spec.Suspend = true })
		Eventually(ctx, func() []string { return steps(preview(ctx, n, "a", corev1alpha1.ReleasePreviewOptions{})) }).
			Should(ContainElement("delete ConfigMap x"), "whoever is suspended takes nothing over")
	}, NodeTimeout(limit))
})

// deny has the target refuse a ConfigMap by a policy.
func deny(ctx context.Context, n *scenario.Namespace, name string) {
	GinkgoHelper()
	policy := `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NS}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]}
  validations: [{expression: "object.metadata.namespace != 'NS' || object.metadata.name != 'NAME'", message: not on my watch}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NS}
spec: {policyName: NS, validationActions: [Deny]}
`
	policy = strings.NewReplacer("NS", n.Name, "NAME", name).Replace(policy)
	target := []string{"KUBECONFIG=" + n.Target.AdminKubeconfig()}
	out, errOut, code := n.KubectlWith(ctx, policy, target, "apply", "-f", "-")
	Expect(code).To(BeZero(), out+errOut)
	DeferCleanup(func(ctx SpecContext) {
		_, errOut, code := n.KubectlWith(ctx, policy, target, "delete", "-f", "-")
		Expect(code).To(BeZero(), errOut)
	}, NodeTimeout(limit))
}
