// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// copies is the template of a ConfigMap with what a Secret of the target has.
const copies = `apiVersion: v1
kind: ConfigMap
metadata: {name: copy}
data: {v: {{ (lookup "v1" "Secret" .Release.Namespace "facts").data.v | b64dec | quote }}}
`

// deployer is a service account of the target that may deliver ConfigMaps.
func deployer(ctx context.Context, n *scenario.Namespace) string {
	GinkgoHelper()
	const name = "deployer"
	_, err := n.TargetClient.CoreV1().ServiceAccounts(n.Name).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	allow(ctx, n, name, "configmaps", "get", "create", "patch", "delete")
	return name
}

// allow gives a service account of the target rights to a resource.
func allow(ctx context.Context, n *scenario.Namespace, account, resource string, verbs ...string) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Name: account + "-" + resource}
	_, err := n.TargetClient.RbacV1().Roles(n.Name).Create(ctx, &rbacv1.Role{
		ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = n.TargetClient.RbacV1().RoleBindings(n.Name).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: n.Name, Name: account}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

var _ = Describe("A chart that looks up an object of the target", func() {
	It("reads it as the Release's service account, each time anew", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\n", "app/templates/copy.yaml": copies})
		facts, err := n.TargetClient.CoreV1().Secrets(n.Name).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "facts"}, Data: map[string][]byte{"v": []byte("one")},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		release := n.GitRelease("app", scenario.Edge, "app")
		release.Spec.ServiceAccountName = deployer(ctx, n)
		release.Spec.Render = &corev1alpha1.RenderSpec{Helm: &corev1alpha1.HelmRender{Lookup: true}}
		n.Create(ctx, release)

		By("saying what the service account may not read")
		Eventually(ctx, func(g Gomega) {
			rendered := n.AwaitCondition(ctx, "app", corev1alpha1.ConditionRendered, metav1.ConditionFalse)
			g.Expect(rendered.Reason).To(Equal(corev1alpha1.ReasonForbidden))
			g.Expect(rendered.Message).To(And(
				ContainSubstring("app/templates/copy.yaml:4"), ContainSubstring("lookup of Secret "+n.Name+"/facts"),
				ContainSubstring(`User "system:serviceaccount:`+n.Name+`:deployer" cannot get resource "secrets"`)))
		}).Should(Succeed())
		Expect(n.Data(ctx, "copy")()).To(BeNil())

		allow(ctx, n, "deployer", "secrets", "get")
		n.Sync(ctx, "app")
		n.AwaitReady(ctx, "app")
		Expect(n.Data(ctx, "copy")()).To(HaveKeyWithValue("v", "one"))
		n.AwaitCondition(ctx, "app", corev1alpha1.ConditionInSync, metav1.ConditionTrue)
		first := n.Release(ctx, "app").Status.Applied.Render

		By("rendering anew when the object has changed")
		n.Sync(ctx, "app")
		n.AwaitReady(ctx, "app")
		Expect(n.Release(ctx, "app").Status.Applied.Render).To(Equal(first), "the same object gives the same render")
		facts.Data["v"] = []byte("two")
		_, err = n.TargetClient.CoreV1().Secrets(n.Name).Update(ctx, facts, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		n.Sync(ctx, "app")
		Eventually(ctx, n.Data(ctx, "copy")).Should(HaveKeyWithValue("v", "two"))
		n.AwaitReady(ctx, "app")
		n.AwaitCondition(ctx, "app", corev1alpha1.ConditionInSync, metav1.ConditionTrue)
		Eventually(ctx, func() string { return n.Release(ctx, "app").Status.Applied.Render }).ShouldNot(Equal(first))
	}, NodeTimeout(3*time.Minute))
})
