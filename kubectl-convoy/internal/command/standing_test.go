// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func gated(gates ...corev1alpha1.GateStatus) func(*corev1alpha1.Release) {
	return func(r *corev1alpha1.Release) {
		r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{}
		r.Status.Lifecycle = &corev1alpha1.LifecycleStatus{Gates: gates}
		for _, gate := range gates {
			r.Spec.Lifecycle.Gates = append(r.Spec.Lifecycle.Gates, corev1alpha1.Gate{Name: gate.Name, Before: "sync"})
		}
	}
}

// TestSyncDone lists what does and does not end the wait well.
func TestSyncDone(t *testing.T) {
	isReady := ready(metav1.ConditionTrue, "Ready", "all is well")
	for _, test := range []struct {
		name string
		now  *corev1alpha1.Release
		want bool
	}{
		{"no pass yet", newRelease(), false},
		{"an earlier request handled", newRelease(handledAt("2026-01-02T03:04:05Z"), isReady), false},
		{"handled, not ready", newRelease(handledAt(requestedAt), ready(metav1.ConditionFalse, "Why", "because")), false},
		{"handled, ready for an older spec", newRelease(handledAt(requestedAt), isReady, func(r *corev1alpha1.Release) { r.Generation++ }), false},
		{"handled and ready", newRelease(handledAt(requestedAt), isReady), true},
		{"a later request handled", newRelease(handledAt("2026-01-02T03:04:05.11Z"), isReady), true},
		{
			"handled and ready, while something newer waits",
			newRelease(handledAt(requestedAt), isReady, says(corev1alpha1.ConditionApplied, metav1.ConditionTrue, "WaitingForGate", "something newer waits")), true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(standingOf(newRelease(), test.now).done).To(Equal(test.want))
		})
	}
}

// TestSyncStands says for each state what is told while it is waited for, and what when the
// time is over.
func TestSyncStands(t *testing.T) {
	const (
		approve   = "kubectl convoy -n shop approve web"
		isNotSync = "Release shop/web is not synced after 3s: "
		silence   = isNotSync + "convoy-controller-manager has said nothing about the request yet, does it run?"
	)
	failed := ready(metav1.ConditionFalse, "HookFailed", "preSync hook migrate (Job shop/migrate): did not end within 3s failed")
	waitsAtGate := ready(metav1.ConditionFalse, "WaitingForGate", "revision 1 waits for the approval of gate go")
	isReady := ready(metav1.ConditionTrue, "Ready", "revision 2 waits; 3 objects are healthy")
	for _, test := range []struct {
		name           string
		before, now    *corev1alpha1.Release
		progress, late string
	}{
		{name: "nothing known", now: newRelease(), late: silence},
		{name: "an older spec", now: newRelease(failed, func(r *corev1alpha1.Release) { r.Generation++ }), late: silence},
		{name: "well as before", now: newRelease(isReady), late: silence},
		{
			name: "a request is no more to be waited for",
			now:  newRelease(ready(metav1.ConditionFalse, "WaitingForSync", "request a sync")), late: silence,
		},
		{
			name:     "a change after the request",
			now:      newRelease(handledAt(requestedAt), ready(metav1.ConditionFalse, "WaitingForSync", "a change is not applied yet: request a sync")),
			progress: "a change is not applied yet: request a sync",
			late:     "Release shop/web is not Ready after 3s: a change is not applied yet: request a sync",
		},
		{
			name:     "a gate",
			now:      newRelease(waitsAtGate, gated(corev1alpha1.GateStatus{Name: "go", Revision: "main@sha1:0123456789abcdef0123456789abcdef01234567", Render: "sha256:12"})),
			progress: "waiting for the approval of gate go for main@sha1:0123456789ab; approve with: " + approve + " --render sha256:12",
			late:     "Release shop/web still waits for the approval of gate go for main@sha1:0123456789ab after 3s; once it is given, the sync follows",
		},
		{
			name: "a gate, what is applied is well",
			now: newRelease(isReady, says(corev1alpha1.ConditionApplied, metav1.ConditionTrue, "WaitingForGate", "revision 2 waits"),
				gated(corev1alpha1.GateStatus{Name: "go"})),
			progress: "waiting for the approval of gate go; approve with: " + approve,
			late:     "Release shop/web still waits for the approval of gate go after 3s; once it is given, the sync follows",
		},
		{
			name:     "two of three gates",
			now:      newRelease(waitsAtGate, gated(corev1alpha1.GateStatus{Name: "go"}, corev1alpha1.GateStatus{Name: "qa", Approved: true}, corev1alpha1.GateStatus{Name: "law"})),
			progress: "waiting for the approval of gate go, gate law; approve with: " + approve,
			late:     "Release shop/web still waits for the approval of gate go, gate law after 3s; once it is given, the sync follows",
		},
		{name: "a gate that was approved just now", now: newRelease(waitsAtGate, gated(corev1alpha1.GateStatus{Name: "go", Approved: true})), late: silence},
		{
			name:     "a lower wave",
			now:      newRelease(ready(metav1.ConditionFalse, "WaitingForWave", "waiting for Release db (wave 0): not Healthy (Progressing)")),
			progress: "waiting for Release db (wave 0): not Healthy (Progressing)",
			late:     isNotSync + "waiting for Release db (wave 0): not Healthy (Progressing)",
		},
		{
			name: "a dependency, what is applied is well",
			now: newRelease(isReady, says(corev1alpha1.ConditionApplied, metav1.ConditionTrue, "WaitingForDependency",
				"waiting for Release db: not Applied yet")),
			progress: "waiting for Release db: not Applied yet",
			late:     isNotSync + "waiting for Release db: not Applied yet",
		},
		{
			name:     "a suspended Cluster, and a gate before that",
			now:      newRelease(ready(metav1.ConditionFalse, "ClusterSuspended", "Cluster edge is suspended"), says(corev1alpha1.ConditionApplied, metav1.ConditionTrue, "WaitingForGate", "old")),
			progress: "Cluster edge is suspended", late: isNotSync + "Cluster edge is suspended",
		},
		{
			name: "a failure", now: newRelease(failed),
			progress: "HookFailed: preSync hook migrate (Job shop/migrate): did not end within 3s failed",
			late:     isNotSync + "HookFailed: preSync hook migrate (Job shop/migrate): did not end within 3s failed",
		},
		{
			name: "a failure that was there before", before: newRelease(failed), now: newRelease(failed),
			progress: "so far: HookFailed: preSync hook migrate (Job shop/migrate): did not end within 3s failed",
			late:     isNotSync + "HookFailed: preSync hook migrate (Job shop/migrate): did not end within 3s failed",
		},
		{
			name:     "synced, not healthy yet",
			now:      newRelease(handledAt(requestedAt), ready(metav1.ConditionFalse, "Progressing", "1 of 2 objects is not healthy")),
			progress: "1 of 2 objects is not healthy", late: "Release shop/web is not Ready after 3s: 1 of 2 objects is not healthy",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var told bytes.Buffer
			if test.before == nil {
				test.before = newRelease()
			}
			f := &follower{requested: test.before, out: &told}
			for range 2 {
				done, err := f.see(watch.Event{Type: watch.Modified, Object: test.now})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(done).To(BeFalse())
			}
			if test.progress != "" {
				test.progress += "\n"
			}
			g.Expect(told.String()).To(Equal(test.progress), "told once")
			g.Expect(f.late(3 * time.Second)).To(MatchError(test.late))
		})
	}
}

func TestSyncEndsWithoutHope(t *testing.T) {
	for _, test := range []struct {
		name  string
		event watch.Event
		want  string
	}{
		{"suspended meanwhile", watch.Event{Type: watch.Modified, Object: newRelease(suspended)}, "Release shop/web is suspended"},
		{"being deleted", watch.Event{Type: watch.Modified, Object: newRelease(func(r *corev1alpha1.Release) {
			r.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		})}, "Release shop/web is being deleted"},
		{"deleted", watch.Event{Type: watch.Deleted, Object: newRelease()}, "Release shop/web was deleted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var told bytes.Buffer
			_, err := (&follower{requested: newRelease(), out: &told}).see(test.event)
			g.Expect(err).To(MatchError(HavePrefix(test.want)))
			g.Expect(told.String()).To(BeEmpty())
		})
	}
}
