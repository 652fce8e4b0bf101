// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// stuckDeployment has pods that fit on no node.
const stuckDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {nodeSelector: {no: such-node}, containers: [{name: web, image: "registry.example/web:2"}]}
`

const fixedConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed}\nimmutable: true\ndata: {v: "

var _ = Describe("A Release with onFailure: rollback", func() {
	DescribeTable("goes back to what was healthy, and stays there until there is something else",
		func(ctx SpecContext, bad map[string]string, told string) {
			n := suite.NewNamespace(ctx, map[string]string{
				"app/a.yaml": scenario.ConfigMap("a", "v", "1"), "app/web.yaml": deployment, "app/fixed.yaml": fixedConfigMap + "\"1\"}\n",
			})
			release := n.GitRelease("app", scenario.Edge, "app")
			release.Spec.Sync.OnFailure = corev1alpha1.OnFailureRollback
			release.Spec.Sync.Timeout = &metav1.Duration{Duration: 15 * time.Second}
			n.Create(ctx, release)
			n.AwaitReady(ctx, "app")
			good := n.Release(ctx, "app").Status.Applied

			bad["app/a.yaml"] = scenario.ConfigMap("a", "v", "2")
			commit := n.Commit(ctx, bad)
			n.Sync(ctx, "app")
			back := func(g Gomega) {
				status := n.Release(ctx, "app").Status
				g.Expect(status.Applied.Render).To(Equal(good.Render))
				g.Expect(status.Rollback).NotTo(BeNil())
				g.Expect(status.Rollback.FailedRevision).To(HaveSuffix(commit))
				g.Expect(n.Data(ctx, "a")()).To(HaveKeyWithValue("v", "1"))
			}
			rolledBack := func(g Gomega) {
				back(g)
				ready := n.AwaitCondition(ctx, "app", corev1alpha1.ConditionReady, metav1.ConditionFalse)
				g.Expect(ready.Reason).To(Equal(corev1alpha1.ReasonRolledBack))
				g.Expect(ready.Message).To(ContainSubstring(told))
			}
			Eventually(ctx, rolledBack).Should(Succeed())
			n.AwaitCondition(ctx, "app", corev1alpha1.ConditionHealthy, metav1.ConditionTrue)
			n.AwaitCondition(ctx, "app", corev1alpha1.ConditionInSync, metav1.ConditionTrue)
			Eventually(ctx, func() []corev1alpha1.HistoryEntry { return n.Release(ctx, "app").Status.History }).
				Should(ContainElement(And(HaveField("Revision", HaveSuffix(commit)), HaveField("Outcome", corev1alpha1.OutcomeFailed))))

			n.Sync(ctx, "app")
			Consistently(ctx, back, 5*time.Second).Should(Succeed(), "what failed is not tried again")
			Eventually(ctx, rolledBack).Should(Succeed()) // Ready tells of the sync while it lasts

			n.Commit(ctx, map[string]string{
				"app/a.yaml": scenario.ConfigMap("a", "v", "3"), "app/web.yaml": deployment, "app/fixed.yaml": fixedConfigMap + "\"1\"}\n",
			})
			n.Sync(ctx, "app")
			Eventually(ctx, n.Data(ctx, "a")).Should(HaveKeyWithValue("v", "3"))
			n.AwaitReady(ctx, "app")
			Eventually(ctx, func() *corev1alpha1.RollbackStatus { return n.Release(ctx, "app").Status.Rollback }).Should(BeNil())
		},
		Entry("an object that does not become healthy", NodeTimeout(4*time.Minute),
			map[string]string{"app/web.yaml": stuckDeployment}, "did not become healthy"),
		Entry("an object that cannot be applied", NodeTimeout(4*time.Minute),
			map[string]string{"app/fixed.yaml": fixedConfigMap + "\"2\"}\n"}, "fields cannot be changed"),
	)

	It("keeps what was there before the failed commit took it over, and nothing that it made", func(ctx SpecContext) {
		n := suite.NewNamespace(ctx, map[string]string{"app/web.yaml": deployment})
		release := n.GitRelease("app", scenario.Edge, "app")
		release.Spec.Sync.OnFailure = corev1alpha1.OnFailureRollback
		release.Spec.Sync.Timeout = &metav1.Duration{Duration: 15 * time.Second}
		n.Create(ctx, release)
		n.AwaitReady(ctx, "app")
		maps := n.TargetClient.CoreV1().ConfigMaps(n.Name)
		byHand, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Data: map[string]string{"mine": "1"}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())

		n.Commit(ctx, map[string]string{
			"app/by-hand.yaml": scenario.ConfigMap("by-hand", "v", "2"), "app/made.yaml": scenario.ConfigMap("made", "v", "2"), "app/web.yaml": stuckDeployment,
		})
		n.Sync(ctx, "app")
		Eventually(ctx, n.Data(ctx, "by-hand")).Should(HaveKeyWithValue("v", "2"), "it is taken over")
		Eventually(ctx, n.Data(ctx, "made")).Should(HaveKeyWithValue("v", "2"))
		Eventually(ctx, func(g Gomega) {
			g.Expect(n.AwaitCondition(ctx, "app", corev1alpha1.ConditionReady, metav1.ConditionFalse).Reason).To(Equal(corev1alpha1.ReasonRolledBack))
			_, err := maps.Get(ctx, "made", metav1.GetOptions{})
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
			kept, err := maps.Get(ctx, "by-hand", metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(kept.UID).To(Equal(byHand.UID))
			g.Expect(kept.Annotations).NotTo(HaveKey(corev1alpha1.AnnotationRelease))
			g.Expect(kept.Data).To(HaveKeyWithValue("mine", "1"))
		}).Should(Succeed())
		n.AwaitCondition(ctx, "app", corev1alpha1.ConditionHealthy, metav1.ConditionTrue)
	}, NodeTimeout(4*time.Minute))
})
