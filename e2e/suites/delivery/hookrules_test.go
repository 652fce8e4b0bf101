// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/suites/scenario"
)

var _ = Describe("A hook of a kind with a health rule", func() {
	DescribeTable("runs until the rule says how it ended", func(ctx SpecContext, phase string, delivered bool) {
		n := suite.NewNamespace(ctx, nil)
		group := n.Name + ".example"
		n.Commit(ctx, map[string]string{"app/after.yaml": scenario.ConfigMap("after", "v", "1"), "app/backups.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {kind: Backup, plural: backups, singular: backup}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`})
		suite.Apply(ctx, `apiVersion: extensions.convoy.kumodo.io/v1alpha1
kind: HealthRuleSet
metadata: {name: backups, namespace: `+n.Name+`}
spec:
  rules:
    - {name: backup, target: {group: `+group+`, kind: Backup}, degraded: "object.?status.phase.orValue('') == 'Failed'", healthy: "object.?status.phase.orValue('') == 'Done'"}
`)
		release := n.GitRelease("app", scenario.Edge, "app")
		release.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Hooks: []corev1alpha1.Hook{{
			Name: "backup", On: corev1alpha1.HookPreSync, Timeout: &metav1.Duration{Duration: 2 * time.Minute},
			Template: runtime.RawExtension{Raw: []byte(`{"apiVersion": "` + group + `/v1", "kind": "Backup", "metadata": {"name": "nightly"}}`)},
		}}}
		n.Create(ctx, release)
		waits := func(g Gomega) {
			g.Expect(n.AwaitCondition(ctx, "app", corev1alpha1.ConditionApplied, metav1.ConditionFalse).Reason).To(Equal(corev1alpha1.ReasonWaitingForHook))
			g.Expect(n.Data(ctx, "after")()).To(BeNil())
		}
		Eventually(ctx, waits).Should(Succeed())
		Consistently(ctx, waits, 3*time.Second).Should(Succeed())

		Expect(n.TargetClient.CoreV1().RESTClient().Patch(types.MergePatchType).
			AbsPath("/apis/" + group + "/v1/namespaces/" + n.Name + "/backups/nightly").
			Body([]byte(`{"status": {"phase": "` + phase + `"}}`)).Do(ctx).Error()).To(Succeed())
		if delivered {
			n.AwaitReady(ctx, "app")
			Expect(n.Data(ctx, "after")()).To(HaveKeyWithValue("v", "1"))
			return
		}
		Eventually(ctx, func() string {
			return n.AwaitCondition(ctx, "app", corev1alpha1.ConditionApplied, metav1.ConditionFalse).Reason
		}).Should(Equal(corev1alpha1.ReasonHookFailed))
		Expect(n.Data(ctx, "after")()).To(BeNil())
	},
		Entry("well", NodeTimeout(3*time.Minute), "Done", true),
		Entry("badly", NodeTimeout(3*time.Minute), "Failed", false),
	)
})
