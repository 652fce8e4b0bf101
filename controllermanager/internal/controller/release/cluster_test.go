// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func TestATargetThatDoesNotAnswerSinceWhen(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	cluster := w.cachedCluster(key.Namespace, "here").DeepCopy()
	cluster.Status.Conditions = []metav1.Condition{{
		Type: corev1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: corev1alpha1.ReasonUnreachable,
		Message:            "cluster here: target cluster is unreachable: no answer",
		LastTransitionTime: metav1.NewTime(time.Date(2026, 3, 1, 10, 0, 0, 0, time.FixedZone("", 3600))),
	}}
	w.Expect(w.clusters.Update(cluster)).To(Succeed())
	w.target.calls = nil
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False TargetUnreachable"))
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal(
		"Cluster here does not answer since 2026-03-01T09:00:00Z (target cluster is unreachable: no answer); it goes on by itself when it does"))

	w.deleteRelease()
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False TargetUnreachable"))
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(ContainSubstring("1 object is left on Cluster here, which does not answer since 2026-03-01T09:00:00Z"))
	w.Expect(w.target.calls).To(BeEmpty())
}
