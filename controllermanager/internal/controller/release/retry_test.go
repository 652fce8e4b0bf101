// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// Events in the time between two attempts at asking a source count none, write nothing, and put
// nothing off; and a source is asked at least as often as it is anyway.
func TestEventsAreNoAttempts(t *testing.T) {
	w := settledWorld(t, newRelease(func(r *corev1alpha1.Release) {
		r.Spec.Sync.Interval = &metav1.Duration{Duration: 30 * time.Second}
	}), objectOf("ConfigMap", "a", 0, "a1"))
	w.config.Fetcher = &sourceGone{Fetcher: w.source}
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.pass()
	w.host.forgetWrites()
	for n := range 4 {
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		w.Expect(w.pass().RequeueAfter).To(Equal(time.Duration(4-n) * time.Second))
		w.Expect(w.release().Status.Sync.Attempts).To(Equal(int32(1)))
	}
	w.Expect(w.host.writes).To(BeEmpty())
	for range 10 {
		w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
		w.Expect(w.pass().RequeueAfter).To(BeNumerically("<=", 30*time.Second))
	}
	w.Expect(w.release().Status.Sync.Attempts).To(Equal(int32(11)))
}

// What has no attempt left is tried again when it is desired again, whatever came of what was
// desired meanwhile.
func TestWhatFailedIsTriedWhenItIsDesiredAgain(t *testing.T) {
	w := settledWorld(t, newRelease(func(r *corev1alpha1.Release) {
		r.Spec.Sync.Retry = &corev1alpha1.RetrySpec{Limit: new(int32)}
	}), objectOf("ConfigMap", "a", 0, "a1"))
	w.fails("a")
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2"))
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False ApplyFailed"))
	w.source.offers("main@3", objectOf("ConfigMap", "a", 0, "a3")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
	w.pass()
	w.hook("migrate", corev1alpha1.HookFailed, "boom")
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False HookFailed"))

	delete(w.target.failures, "a")
	w.source.revision = "main@2"
	w.settle()
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@2"))
}

// A source that is away is asked again at its interval, whatever else there is to say of the Release.
func TestASourceThatIsAwayIsAskedAgain(t *testing.T) {
	w := settledWorld(t, newRelease(func(r *corev1alpha1.Release) {
		r.Spec.Sync.Interval = &metav1.Duration{Duration: 30 * time.Second}
		r.Spec.Sync.Retry = &corev1alpha1.RetrySpec{Limit: new(int32)}
	}), objectOf("ConfigMap", "a", 0, "a1"))
	w.config.Fetcher = &sourceGone{Fetcher: w.source}
	for range 3 {
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		w.Expect(w.pass().RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically("<=", 30*time.Second)))
	}
}
