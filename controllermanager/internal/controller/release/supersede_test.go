// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// fails has an object refused by the target, so that a sync begins and does not end.
func (w *world) fails(name string) { w.target.failures[name] = errors.New("refused") }

// What takes the place of a sync has its own time, also when it had to wait between its render
// and its start.
func TestASyncHasItsOwnTime(t *testing.T) {
	w := newWorld(t, newRelease(gated))
	approve := func() {
		release := w.release()
		release.Status.Lifecycle.Gates[0].Approved = true
		_, err := w.host.CoreV1alpha1().Releases(key.Namespace).UpdateStatus(t.Context(), release, metav1.UpdateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
	staged := func(revision, digest string) {
		w.source.offers(revision, objectOf("Deployment", "db", -1, digest), objectOf("Deployment", "app", 0, digest))
	}
	staged("main@1", "1")
	w.pass()
	approve()
	w.pass()
	began := w.release().Status.Sync.StartedAt
	w.Expect(began).NotTo(BeNil())

	w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
	staged("main@2", "2")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(HaveSuffix("WaitingForGate"))
	w.Expect(w.release().Status.Sync).To(Or(BeNil(), HaveField("StartedAt", BeNil())), "no sync of it is under way")

	w.clock.SetTime(w.clock.Now().Add(defaultTimeout))
	approve()
	w.pass()
	w.Expect(w.release().Status.Sync.StartedAt.Time).To(BeTemporally("==", w.clock.Now()))
	w.observe(health("db", corev1alpha1.HealthProgressing, "starts"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).NotTo(HaveSuffix("HealthTimeout"))
}

// A window lets the sync go on that began in it, and no other.
func TestAWindowIsForTheSyncThatBeganInIt(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.change(func(r *corev1alpha1.Release) {
		r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Allow: true, Schedule: "0 22 * * *", Duration: metav1.Duration{Duration: time.Hour}}}
	})
	w.clock.SetTime(time.Date(2026, 3, 1, 22, 0, 1, 0, time.UTC))
	w.fails("a")
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False ApplyFailed"))

	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}), "what began goes on")

	w.source.offers("main@3", objectOf("ConfigMap", "a", 0, "a3"))
	delete(w.target.failures, "a")
	for range 3 {
		w.pass()
	}
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("revision main@3 (main@1 is applied) is not applied yet: the next window of spec.sync.windows opens at 2026-03-02T22:00:00Z"))
}

// A pin is a person's will, and waits for no window.
func TestAPinWaitsForNoWindow(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.observe()
	w.pass()
	w.target.takeCalls()
	w.change(func(r *corev1alpha1.Release) {
		r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Deny: true, Schedule: "* * * * *", Duration: metav1.Duration{Duration: time.Hour}}}
		r.Spec.Pin = &corev1alpha1.Pin{Revision: "main@1"}
	})
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
}

// A request is for what there was to sync, not for what came after it.
func TestARequestIsForOneSync(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*corev1alpha1.Release)
		applied string
	}{
		{"manual", manual, "main@1"},
		{"outside of windows", func(r *corev1alpha1.Release) {
			r.Spec.Sync.Windows = []corev1alpha1.SyncWindow{{Deny: true, Schedule: "* * * * *", Duration: metav1.Duration{Duration: time.Hour}}}
		}, "main@1"},
		{"automatic", func(*corev1alpha1.Release) {}, "main@3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
			w.change(test.change)
			w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
			w.fails("a")
			w.requestSync("2026-03-01T10:00:00Z")
			w.pass()
			w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False ApplyFailed"))
			w.target.takeCalls()

			delete(w.target.failures, "a")
			w.source.offers("main@3", objectOf("ConfigMap", "a", 0, "a3"))
			for range 3 {
				w.pass()
			}
			w.Expect(w.release().Status.Applied.Revision).To(Equal(test.applied))
			w.Expect(w.release().Status.Sync.LastHandledAt).To(Equal("2026-03-01T10:00:00Z"))

			w.requestSync("2026-03-01T11:00:00Z")
			w.pass()
			w.Expect(w.release().Status.Applied.Revision).To(Equal("main@3"), "another request is one")
		})
	}
}

// A sync that was asked for has all its time, although one of the same failed before.
func TestARequestedSyncHasItsOwnTime(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
	w.fails("a")
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.requestSync("2026-03-01T11:00:00Z")
	w.pass()
	w.Expect(w.release().Status.Sync.StartedAt.Time).To(BeTemporally("==", w.clock.Now()))
}

// What is not being rendered any more is not said to be.
func TestSuspendedWhileItIsRendered(t *testing.T) {
	w := newWorld(t, newRelease())
	release := w.release()
	release.Status.Conditions = []metav1.Condition{{
		Type: corev1alpha1.ConditionRendered, Status: metav1.ConditionUnknown, Reason: corev1alpha1.ReasonProgressing,
		Message: "is being rendered, or waits for its turn, since 2026-03-01T09:00:00Z", LastTransitionTime: metav1.NewTime(w.clock.Now()),
	}}
	_, err := w.host.CoreV1alpha1().Releases(key.Namespace).UpdateStatus(t.Context(), release, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.change(func(r *corev1alpha1.Release) { r.Spec.Suspend = true })
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionRendered)).To(Equal("is not rendered yet: something comes before, see Ready"))
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("False Suspended"))
}

// A sync that has begun, and a rollback, go on by the stored render when the source is gone.
func TestWithoutItsSource(t *testing.T) {
	t.Run("a rollback begins and stays", func(t *testing.T) {
		w := failedWorld(t)
		w.source.err = errors.New("the source is gone")
		w.settle()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply a"}))
		w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
		w.Expect(w.condition(corev1alpha1.ConditionSourceReady)).To(HavePrefix("False"))
		w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True RolledBack"))
		w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("rolled back to main@1, because main@2 failed"))
		for range 3 {
			w.pass()
		}
		w.Expect(w.target.takeCalls()).To(BeEmpty())
		w.Expect(w.release().Status.Rollback).To(HaveField("Failed", "render of main@2"))
	})
	t.Run("a sync goes on", func(t *testing.T) {
		w := newWorld(t, newRelease())
		w.config.Renders = w.source
		w.source.offers("main@1", objectOf("Deployment", "db", -1, "d1"), objectOf("Deployment", "app", 0, "a1"))
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply db"}))
		w.source.err = errors.New("the source is gone")
		w.observe()
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply app"}))
		w.Expect(w.release().Status.Applied.Revision).To(Equal("main@1"))
		w.pass()
		w.Expect(w.condition(corev1alpha1.ConditionReady)).To(HavePrefix("False"), "with nothing left to be done, the source is what is to be told of")
	})
	t.Run("nothing new begins", func(t *testing.T) {
		w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
		w.config.Renders = w.source
		w.source.err = errors.New("the source is gone")
		w.change(func(r *corev1alpha1.Release) { r.Spec.Wave = 2 })
		w.pass()
		w.Expect(w.target.takeCalls()).To(BeEmpty())
		w.Expect(w.condition(corev1alpha1.ConditionReady)).To(HavePrefix("False"))
	})
}
