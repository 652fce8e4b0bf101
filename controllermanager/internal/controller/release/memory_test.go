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

func version(uid, resourceVersion string) *corev1alpha1.Release {
	release := newRelease()
	release.UID, release.ResourceVersion = "uid", resourceVersion
	if uid != "" {
		release.UID = "another"
	}
	return release
}

func TestLatest(t *testing.T) {
	tests := []struct {
		name            string
		cached, written *corev1alpha1.Release
		wantWritten     bool
	}{
		{"the cache is behind", version("", "9"), version("", "10"), true},
		{"the cache has caught up", version("", "10"), version("", "10"), false},
		{"the cache is ahead", version("", "11"), version("", "10"), false},
		{"another object of the name", version("another", "9"), version("", "10"), false},
		{"versions that cannot be compared", version("", "x"), version("", "10"), false},
		{"the cache has nothing yet", nil, version("", "10"), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			var l latest[*corev1alpha1.Release]
			tt.written.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
			l.wrote(tt.written)
			g.Expect(tt.written.ManagedFields).To(BeEmpty())
			newest := l.newest(nameOf(tt.written), func() *corev1alpha1.Release { return tt.cached })
			if tt.wantWritten {
				g.Expect(newest).To(BeIdenticalTo(tt.written))
				return
			}
			g.Expect(newest).To(BeIdenticalTo(tt.cached))
			g.Expect(l.written).To(BeEmpty(), "what is of no use is dropped")
		})
	}
}

func TestWhatTheInformerHasIsNotRemembered(t *testing.T) {
	tests := []struct {
		name     string
		informed *corev1alpha1.Release
		dropped  bool
	}{
		{"an older state", version("", "9"), false},
		{"the last of another object of the name", version("another", "9"), false},
		{"what was written", version("", "10"), true},
		{"a newer state", version("", "11"), true},
		{"another object of the name", version("another", "11"), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			var l latest[*corev1alpha1.Release]
			l.wrote(version("", "10"))
			l.onInformed().OnUpdate(nil, tt.informed)
			g.Expect(l.written).To(HaveLen(map[bool]int{false: 1, true: 0}[tt.dropped]))
			l.onInformed().OnAdd(tt.informed, false)
			g.Expect(l.written).To(HaveLen(map[bool]int{false: 1, true: 0}[tt.dropped]))
		})
	}
}

func TestBackoff(t *testing.T) {
	second := func(n int) *metav1.Duration {
		return &metav1.Duration{Duration: time.Duration(n) * time.Second}
	}
	tests := []struct {
		name     string
		retry    *corev1alpha1.RetrySpec
		attempts int32
		want     time.Duration
	}{
		{"the first", nil, 1, 5 * time.Second},
		{"the second", nil, 2, 10 * time.Second},
		{"the tenth", nil, 10, 5 * time.Minute},
		{"many", nil, 1 << 30, 5 * time.Minute},
		{"its own", &corev1alpha1.RetrySpec{InitialBackoff: second(1), MaxBackoff: second(3)}, 2, 2 * time.Second},
		{"its own limit", &corev1alpha1.RetrySpec{InitialBackoff: second(1), MaxBackoff: second(3)}, 3, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			release := newRelease(func(r *corev1alpha1.Release) { r.Spec.Sync.Retry = tt.retry })
			NewWithT(t).Expect(backoff(release, tt.attempts)).To(Equal(tt.want))
		})
	}
}

func TestAttemptsGoOnAfterARestart(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.err = errors.New("down")
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	reborn := newController(w.config)
	reborn.Controller = w.Controller.Controller
	w.Controller = reborn
	w.pass()
	w.Expect(w.release().Status.Sync.Attempts).To(Equal(int32(3)))
	w.change(func(r *corev1alpha1.Release) { r.Spec.Wave = 1 })
	w.pass()
	w.Expect(w.release().Status.Sync.Attempts).To(Equal(int32(1)), "a new spec begins anew")
}

func TestHistory(t *testing.T) {
	limit := int32(2)
	w := newWorld(t, newRelease(func(r *corev1alpha1.Release) { r.Spec.History = &corev1alpha1.HistorySpec{Limit: &limit} }))
	for _, revision := range []string{"main@1", "main@2", "main@3"} {
		w.source.offers(revision, objectOf("ConfigMap", "a", 0, revision))
		w.pass()
	}
	w.Expect(w.release().Status.History).To(HaveExactElements(
		And(HaveField("ID", int64(3)), HaveField("Outcome", corev1alpha1.OutcomeApplied)),
		And(HaveField("ID", int64(2)), HaveField("Outcome", corev1alpha1.OutcomeSuperseded))))

	w.target.failures["a"] = errors.New("no")
	w.source.offers("main@4", objectOf("ConfigMap", "a", 0, "main@4"))
	w.pass()
	w.Expect(w.release().Status.History[0]).To(And(HaveField("Outcome", corev1alpha1.OutcomeFailed), HaveField("Message", "ConfigMap ns/a: no")))
	delete(w.target.failures, "a")
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.pass()
	w.Expect(w.release().Status.History[0]).To(And(HaveField("ID", int64(4)), HaveField("Outcome", corev1alpha1.OutcomeApplied), HaveField("Message", "")))
}
