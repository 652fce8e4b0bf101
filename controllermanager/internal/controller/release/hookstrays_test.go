// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// deaths are where a process can die after it started a hook.
var deaths = []string{"patch releaseinventories", "update releases/status"}

// dies makes a pass whose process dies at a write after it applied something, and starts another one.
func (w *world) dies(write string) {
	w.sync()
	w.target.onApply = func() { w.host.fail[write] = errors.New("dead") }
	_, err := w.Reconcile(context.Background(), key)
	w.ExpectWithOffset(1, err).To(HaveOccurred())
	w.target.onApply = nil
	w.restart()
}

// strayWorld has a Release whose hook migrate-1 runs and is on no record.
func strayWorld(t *testing.T, death string) *world {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{hookOf("migrate-1", corev1alpha1.HookPreSync)}
	w.dies(death)
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply migrate-1"}))
	w.Expect(w.release().Status.Lifecycle).To(BeNil())
	return w
}

// TestRunThatIsOnNoRecordEnds: a migration that a process started that died before it could note that
// does not run beside the next one.
func TestRunThatIsOnNoRecordEnds(t *testing.T) {
	tests := []struct {
		name  string
		hooks []render.Hook // of the present state
		calls []string
	}{
		{"for a hook of another name", []render.Hook{hookOf("migrate-2", corev1alpha1.HookPreSync)}, []string{"prune migrate-1", "apply migrate-2"}},
		{"for one of its name that runs later", []render.Hook{hookOf("first", corev1alpha1.HookPreSync, weight(-1)), hookOf("migrate-1", corev1alpha1.HookPreSync)},
			[]string{"prune migrate-1", "apply first"}},
		{"for one of its name with another object", []render.Hook{hookOf("migrate-1", corev1alpha1.HookPreSync, func(h *render.Hook) { h.Object = objectOf("Job", "migrate-v2", 0, "m2") })},
			[]string{"prune migrate-1", "apply migrate-v2"}},
		{"for none", nil, []string{"prune migrate-1", "apply a"}},
	}
	for _, tt := range tests {
		for _, death := range deaths {
			t.Run(tt.name+", "+death, func(t *testing.T) {
				w := strayWorld(t, death)
				w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = tt.hooks
				w.target.lingering["migrate-1"] = true
				for range 2 {
					w.Expect(w.pass().RequeueAfter).To(BeNumerically("<=", deletionPoll))
					w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate-1"}))
					w.Expect(w.message(corev1alpha1.ConditionApplied)).To(HavePrefix("ending preSync hook Job ns/migrate-1, which runs for what was to be applied before: "))
				}
				w.restart()
				delete(w.target.lingering, "migrate-1")
				w.pass()
				w.Expect(w.target.takeCalls()).To(Equal(tt.calls))
			})
		}
	}
}

// TestRunThatIsOnNoRecordGoesOn: of the same desired state, it is the present one; and what has ended
// is not touched.
func TestRunThatIsOnNoRecordGoesOn(t *testing.T) {
	for _, death := range deaths {
		w := strayWorld(t, death)
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply migrate-1"}))
		w.Expect(w.release().Status.Lifecycle.Hooks).To(ConsistOf(And(HaveField("Run", "render of main@1"), HaveField("Object.UID", w.target.uids["migrate-1"]))))

		w = strayWorld(t, death)
		w.target.ends(&corev1alpha1.ObjectUID{ObjectKey: objectOf("Job", "migrate-1", 0, "").Key(), UID: w.target.uids["migrate-1"]}, corev1alpha1.HookSucceeded)
		w.change(func(r *corev1alpha1.Release) { r.Spec.Sync.Prune = ptr.To(false) })
		w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hookOf("migrate-2", corev1alpha1.HookPreSync)}
		w.pass()
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply migrate-2"}))
	}
}

// TestWhatIsLeftIsNoRun: an object that does not tell its end, and is there because nothing is pruned.
func TestWhatIsLeftIsNoRun(t *testing.T) {
	serves := hookOf("serve", corev1alpha1.HookPreSync, func(h *render.Hook) { h.Object = objectOf("Deployment", "serve", 0, "s") })
	w := newWorld(t, newRelease(func(r *corev1alpha1.Release) { r.Spec.Sync.Prune = ptr.To(false) }))
	w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{serves}
	w.pass()
	w.ends("serve succeeded")
	w.pass()
	for _, revision := range []string{"main@2", "main@3"} {
		w.source.offers(revision, objectOf("ConfigMap", "a", 0, revision))
		w.pass()
	}
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply serve", "apply a", "apply a", "apply a"}))
}

// TestWhatIsKeptIsNoRun: what hooks made stays when a person takes their records off the status, as
// is done after a failed hook of a deletion.
func TestWhatIsKeptIsNoRun(t *testing.T) {
	for name, kept := range map[string]bool{"made": false, "made, and kept": true} {
		t.Run(name, func(t *testing.T) {
			settings := hookOf("settings", corev1alpha1.HookPreSync, func(h *render.Hook) {
				h.Object = objectOf("ExternalSecret", "settings", 0, "s")
				h.Object.Keep = kept
			})
			w := newWorld(t, newRelease())
			w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1")).Hooks = []render.Hook{settings, hookOf("backup", corev1alpha1.HookPreDelete)}
			w.pass()
			w.ends("settings succeeded")
			w.settle()
			w.deleteRelease()
			w.pass()
			w.hook("backup", corev1alpha1.HookFailed, "disk full")
			w.pass()
			release := w.release()
			release.Status.Lifecycle = nil
			_, err := w.host.CoreV1alpha1().Releases(key.Namespace).UpdateStatus(t.Context(), release, metav1.UpdateOptions{})
			w.Expect(err).NotTo(HaveOccurred())
			w.target.takeCalls()
			w.pass()
			w.Expect(w.target.takeCalls()).NotTo(ContainElement("prune settings"))
		})
	}
}

// TestRunAfterAFailureIsKnown: what a syncFailed hook runs is ended by the next failure of something
// else, for which its object is known by UID.
func TestRunAfterAFailureIsKnown(t *testing.T) {
	undo := hookOf("undo", corev1alpha1.HookSyncFailed)
	w := hookWorld(t, hookOf("migrate", corev1alpha1.HookPreSync), undo)
	w.ends("migrate failed")
	w.pass()
	w.Expect(w.inventory().Spec.Entries).To(ContainElement(And(HaveField("Name", "undo"), HaveField("UID", w.target.uids["undo"]))))
	w.target.takeCalls()
	undo.Name, undo.Object = "undo-2", objectOf("Job", "undo-2", 0, "u2")
	w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync), undo}
	w.pass()
	w.ends("migrate failed")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune migrate", "apply migrate", "prune undo", "apply undo-2"}))
}
