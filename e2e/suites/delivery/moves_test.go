// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var _ = Describe("An object that moves between Releases", func() {
	files := map[string]string{
		"a/keep.yaml": scenario.ConfigMap("keep-a", "v", "1"), "a/x.yaml": scenario.ConfigMap("x", "v", "1"),
		"b/keep.yaml": scenario.ConfigMap("keep-b", "v", "1"),
	}
	moved := map[string]string{"b/x.yaml": scenario.ConfigMap("x", "v", "2")}

	DescribeTable("in one commit is handed over, and never deleted",
		func(ctx SpecContext, first string, change func(a, b *corev1alpha1.Release)) {
			n := suite.NewNamespace(ctx, files)
			a, b := n.GitRelease("a", scenario.Edge, "a"), n.GitRelease("b", scenario.Edge, "b")
			change(a, b)
			n.Create(ctx, a)
			n.Create(ctx, b)
			n.AwaitReady(ctx, "a")
			n.AwaitReady(ctx, "b")
			before := object(ctx, n, "x")

			n.Commit(ctx, moved, "a/x.yaml")
			n.Sync(ctx, first)

			Eventually(ctx, n.Data(ctx, "x")).Should(HaveKeyWithValue("v", "2"))
			Eventually(ctx, func() []string { return entries(n.Inventory(ctx, "a")) }).Should(Equal([]string{"keep-a"}))
			Eventually(ctx, func() []string { return entries(n.Inventory(ctx, "b")) }).Should(Equal([]string{"keep-b", "x"}))
			for _, name := range []string{"a", "b"} {
				n.AwaitReady(ctx, name)
				n.AwaitCondition(ctx, name, corev1alpha1.ConditionInSync, metav1.ConditionTrue)
				for _, entry := range n.Release(ctx, name).Status.History {
					Expect(entry.Outcome).NotTo(Equal(corev1alpha1.OutcomeFailed), "nothing failed on the way")
				}
			}
			after := object(ctx, n, "x")
			Expect(after.UID).To(Equal(before.UID))
			Expect(after.Annotations[corev1alpha1.AnnotationRelease]).To(HaveSuffix("/" + n.Name + "/b"))
			Expect(after.Annotations).NotTo(HaveKey(corev1alpha1.AnnotationClaimedBy))
			Expect(after.Labels[corev1alpha1.LabelOwner]).NotTo(Equal(before.Labels[corev1alpha1.LabelOwner]))
			health := n.Inventory(ctx, "b").Status.Health
			Expect(health).To(ContainElement(And(HaveField("Name", "x"), HaveField("Status", corev1alpha1.HealthHealthy))))
		},
		Entry("the new owner first", NodeTimeout(3*time.Minute), "b", func(_, _ *corev1alpha1.Release) {}),
		Entry("the old owner first", NodeTimeout(3*time.Minute), "a", func(_, _ *corev1alpha1.Release) {}),
		Entry("the new owner first, in a lower wave", NodeTimeout(3*time.Minute), "b", func(a, _ *corev1alpha1.Release) { a.Spec.Wave = 1 }),
		Entry("the old owner first, in a lower wave", NodeTimeout(3*time.Minute), "a", func(_, b *corev1alpha1.Release) { b.Spec.Wave = 1 }),
	)

	DescribeTable("out of a Release that is rolled back goes back to it, and is never deleted",
		func(ctx SpecContext, first, second string, suspend bool) {
			n := suite.NewNamespace(ctx, map[string]string{
				"a/web.yaml": deployment, "a/x.yaml": scenario.ConfigMap("x", "v", "1"), "b/keep.yaml": scenario.ConfigMap("keep-b", "v", "1"),
			})
			a := n.GitRelease("a", scenario.Edge, "a")
			a.Spec.Sync.OnFailure = corev1alpha1.OnFailureRollback
			a.Spec.Sync.Timeout = &metav1.Duration{Duration: 15 * time.Second}
			n.Create(ctx, a)
			n.Create(ctx, n.GitRelease("b", scenario.Edge, "b"))
			n.AwaitReady(ctx, "a")
			n.AwaitReady(ctx, "b")
			before := object(ctx, n, "x")

			n.Commit(ctx, map[string]string{"b/x.yaml": scenario.ConfigMap("x", "v", "2"), "a/web.yaml": stuckDeployment}, "a/x.yaml")
			n.Sync(ctx, "b")
			n.Sync(ctx, "a")
			Eventually(ctx, func(g Gomega) {
				applied := n.AwaitCondition(ctx, "a", corev1alpha1.ConditionApplied, metav1.ConditionTrue)
				g.Expect(applied.Reason).To(Equal(corev1alpha1.ReasonRolledBack))
				g.Expect(applied.Message).To(ContainSubstring("left out: ConfigMap %s/x, which Release %s/b has", n.Name, n.Name))
			}).Should(Succeed())
			n.AwaitCondition(ctx, "a", corev1alpha1.ConditionHealthy, metav1.ConditionTrue)
			n.AwaitCondition(ctx, "a", corev1alpha1.ConditionInSync, metav1.ConditionTrue)
			n.AwaitReady(ctx, "b")
			Expect(n.Data(ctx, "x")()).To(HaveKeyWithValue("v", "2"))

			setSuspend := func(value bool) {
				n.MustKubectl(ctx, "-n", n.Name, "patch", "release", "a", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"suspend":%t}}`, value))
			}
			setSuspend(suspend)
			n.Commit(ctx, nil, "b/x.yaml")
			n.Sync(ctx, first)
			if !suspend {
				n.Sync(ctx, second)
			}
			Eventually(ctx, func() []string { return entries(n.Inventory(ctx, "b")) }).Should(Equal([]string{"keep-b"}))
			setSuspend(false)
			Eventually(ctx, n.Data(ctx, "x")).Should(HaveKeyWithValue("v", "1"))
			n.AwaitReady(ctx, "b")
			n.AwaitCondition(ctx, "a", corev1alpha1.ConditionInSync, metav1.ConditionTrue)
			after := object(ctx, n, "x")
			Expect(after.UID).To(Equal(before.UID))
			Expect(after.Annotations[corev1alpha1.AnnotationRelease]).To(HaveSuffix("/" + n.Name + "/a"))
			Expect(n.AwaitCondition(ctx, "a", corev1alpha1.ConditionApplied, metav1.ConditionTrue).Message).NotTo(ContainSubstring("left out"))
		},
		Entry("which the one that has it learns first", NodeTimeout(4*time.Minute), "b", "a", false),
		Entry("which the one that is rolled back learns first", NodeTimeout(4*time.Minute), "a", "b", false),
		Entry("which is suspended meanwhile", NodeTimeout(4*time.Minute), "b", "a", true),
	)

	It("waits in the old Release for people to let it into the new one", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, files)
		n.Create(ctx, n.GitRelease("a", scenario.Edge, "a"))
		n.AwaitReady(ctx, "a")
		n.Commit(ctx, moved, "a/x.yaml")
		b := n.GitRelease("b", scenario.Edge, "b")
		b.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "go", Before: "sync"}}}
		n.Create(ctx, b)
		before := object(ctx, n, "x")
		n.Sync(ctx, "a")
		Eventually(ctx, func() string {
			return n.AwaitCondition(ctx, "a", corev1alpha1.ConditionApplied, metav1.ConditionTrue).Message
		}).Should(ContainSubstring("moves to Release b, and stays until that has taken it over"))

		n.MustKubectl(ctx, "-n", n.Name, "patch", "release", "b", "--subresource=lifecycle", "--type=merge",
			"-p", `{"status":{"lifecycle":{"gates":[{"name":"go","approved":true}]}}}`)
		n.AwaitReady(ctx, "b")
		Eventually(ctx, func() []string { return entries(n.Inventory(ctx, "a")) }).Should(Equal([]string{"keep-a"}))
		Expect(object(ctx, n, "x").UID).To(Equal(before.UID))
	}, NodeTimeout(3*time.Minute))

	It("to a Release of another namespace is a conflict until the old one has it no more", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, files)
		far := suite.NewNamespace(ctx, moved)
		n.Create(ctx, n.GitRelease("a", scenario.Edge, "a"))
		n.AwaitReady(ctx, "a")
		before := object(ctx, n, "x")
		b := far.GitRelease("b", scenario.Edge, "b")
		b.Spec.TargetNamespace = n.Name
		far.Create(ctx, b)
		conflict := far.AwaitCondition(ctx, "b", corev1alpha1.ConditionApplied, metav1.ConditionFalse)
		Expect(conflict.Reason).To(Equal(corev1alpha1.ReasonOwnershipConflict))
		Expect(conflict.Message).To(ContainSubstring("Release " + n.Name + "/a, which hands it over"))
		Expect(n.Data(ctx, "x")()).To(HaveKeyWithValue("v", "1"))

		n.Commit(ctx, nil, "a/x.yaml")
		n.Sync(ctx, "a")
		far.AwaitReady(ctx, "b")
		after := object(ctx, n, "x")
		Expect(after.UID).To(Equal(before.UID))
		Expect(after.Data).To(HaveKeyWithValue("v", "2"))
		Expect(after.Annotations[corev1alpha1.AnnotationRelease]).To(HaveSuffix("/" + far.Name + "/b"))
		Expect(after.Annotations).NotTo(HaveKey(corev1alpha1.AnnotationClaimedBy))
		Eventually(ctx, func() []string { return entries(n.Inventory(ctx, "a")) }).Should(Equal([]string{"keep-a"}))
	}, NodeTimeout(3*time.Minute))

	It("stays when its Release is deleted and another one declares it", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, files)
		n.Create(ctx, n.GitRelease("old", scenario.Edge, "a"))
		n.AwaitReady(ctx, "old")
		before := object(ctx, n, "x")
		n.Create(ctx, n.GitRelease("new", scenario.Edge, "a"))
		n.AwaitCondition(ctx, "new", corev1alpha1.ConditionApplied, metav1.ConditionFalse)
		Expect(n.API.CoreV1alpha1().Releases(n.Name).Delete(ctx, "old", metav1.DeleteOptions{})).To(Succeed())
		n.AwaitReady(ctx, "new")
		Expect(object(ctx, n, "x").UID).To(Equal(before.UID))
	}, NodeTimeout(3*time.Minute))
})

func object(ctx context.Context, n *scenario.Namespace, name string) *corev1.ConfigMap {
	GinkgoHelper()
	found, err := n.TargetClient.CoreV1().ConfigMaps(n.Name).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return found
}

// entries gives the names of the objects in an inventory.
func entries(inventory *corev1alpha1.ReleaseInventory) []string {
	var names []string
	for _, entry := range inventory.Spec.Entries {
		names = append(names, entry.Name)
	}
	return names
}
