// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Each entry of the history says what made it new, who asked for it, and how long it took.
func TestHistoryTellsWhyAndByWhom(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	newest := func() corev1alpha1.HistoryEntry { return w.release().Status.History[0] }
	w.Expect(newest()).To(And(HaveField("Reason", corev1alpha1.HistoryReasonSource), HaveField("RequestedBy", ""), HaveField("Objects", int32(1)),
		HaveField("StartedAt", Not(BeNil())), HaveField("Duration", Not(BeNil()))))

	w.source.results["main@1"].Digest = "with other values"
	w.pass()
	w.Expect(newest()).To(HaveField("Reason", corev1alpha1.HistoryReasonValues))

	w.change(func(r *corev1alpha1.Release) { r.Spec.Wave = 2 })
	w.source.results["main@1"].Digest = "with another spec"
	w.pass()
	w.Expect(newest()).To(HaveField("Reason", corev1alpha1.HistoryReasonSpec))

	w.change(manual)
	w.pass()
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"), objectOf("ConfigMap", "b", 0, "b2"))
	w.fails("b")
	w.change(func(r *corev1alpha1.Release) {
		r.Annotations = map[string]string{corev1alpha1.AnnotationSyncRequestedAt: "2026-03-01T12:00:00Z", corev1alpha1.AnnotationSyncRequestedBy: "ada"}
	})
	w.pass()
	w.Expect(newest()).To(And(HaveField("Outcome", corev1alpha1.OutcomeFailed), HaveField("RequestedBy", "ada"),
		HaveField("Reason", corev1alpha1.HistoryReasonSource), HaveField("Objects", int32(2))))
	delete(w.target.failures, "b")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.Expect(newest()).To(And(HaveField("Outcome", corev1alpha1.OutcomeApplied), HaveField("RequestedBy", "ada"),
		HaveField("Duration", Equal(&metav1.Duration{Duration: time.Minute}))))

	w.change(func(r *corev1alpha1.Release) {
		r.Spec.Sync.Mode, r.Spec.Pin = corev1alpha1.SyncModeAutomatic, &corev1alpha1.Pin{Revision: "main@1"}
	})
	w.pass()
	w.Expect(newest()).To(And(HaveField("Reason", corev1alpha1.HistoryReasonPin), HaveField("RequestedBy", "")))
}

func TestHistoryTellsOfARollback(t *testing.T) {
	w := failedWorld(t)
	w.pass()
	w.Expect(w.release().Status.History[0]).To(HaveField("Reason", corev1alpha1.HistoryReasonRollback))
}
