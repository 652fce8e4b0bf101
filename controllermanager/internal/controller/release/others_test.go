// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/render"
)

// TestStandingOfAHooksObject: it is its Release's for as long as that has it in its inventory.
func TestStandingOfAHooksObject(t *testing.T) {
	tests := []struct {
		name  string
		given func(w *world)
	}{
		{"while it runs", func(*world) {}},
		{"when it has ended", func(w *world) { w.ends("migrate succeeded"); w.pass() }},
		{"when it has left the render", func(w *world) { w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1")) }},
		{"when it does not run in later syncs", func(w *world) {
			w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1")).OtherHooks = []render.Hook{hookOf("migrate", corev1alpha1.HookPreSync)}
		}},
		{"of a Release that is suspended", func(w *world) { w.ends("migrate succeeded"); w.pass(); w.change(suspended) }},
		{"of a Release that is being deleted", func(w *world) { w.deleteRelease() }},
		{"by the host alone", func(w *world) {
			w.sync()
			w.Expect(w.inventories.Replace(nil, "")).To(Succeed())
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := hookWorld(t, hookOf("migrate", corev1alpha1.HookPreSync))
			w.create(other("next"))
			tt.given(w)
			standing, err := w.standing(hookOf("migrate", corev1alpha1.HookPreSync).Object.Key())
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(standing).To(Equal(apply.Holds))
		})
	}
}

// TestStandingOfWhatBecomesAHook: an object that a newer render has as that of a hook does not leave.
func TestStandingOfWhatBecomesAHook(t *testing.T) {
	for _, change := range []func(*corev1alpha1.Release){wave(0), manual} {
		w := settledWorld(t, newRelease(), objectOf("Job", "migrate", 0, "m1"))
		w.create(other("next"))
		hook := hookOf("migrate", corev1alpha1.HookPreSync)
		result := w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1"))
		result.OtherHooks = []render.Hook{hook}
		w.change(change)
		w.set(key.Name, conditions(isTrue, isTrue, 1), func(r *corev1alpha1.Release) {
			r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@2", Render: result.Digest, Objects: 1}
			r.Status.Render, r.Status.Source = &corev1alpha1.RenderStatus{Digest: result.Digest}, &corev1alpha1.SourceStatus{Revision: "main@2"}
		})
		standing, err := w.standing(hook.Object.Key())
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(standing).To(Equal(apply.Holds))

		result.OtherHooks = nil
		standing, err = w.standing(hook.Object.Key())
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(standing).To(Equal(apply.Leaves))
	}
}

// standing asks as Release next how Release app stands to an object.
func (w *world) standing(object corev1alpha1.ObjectKey) (apply.Standing, error) {
	if len(w.inventories.List()) > 0 {
		w.sync()
	}
	next := w.release("next")
	o := &others{controller: w.Controller, scope: &scope{
		key: nameOf(next), release: next, before: next.Status.DeepCopy(), now: w.clock.Now(), cluster: w.cachedCluster(key.Namespace, "here"),
	}}
	return o.Standing(context.Background(), key, object)
}

// Who claims an object is to have it, also if it does not go on by itself: what it applied last does
// not have it yet.
func TestStandingOfAClaimant(t *testing.T) {
	pinned := func(r *corev1alpha1.Release) { r.Spec.Pin = &corev1alpha1.Pin{Revision: "main@2"} }
	for name, change := range map[string]func(*corev1alpha1.Release){"automatic": wave(0), "manual": manual, "pinned": pinned} {
		for _, then := range []string{"", "suspended"} {
			t.Run(name+" "+then, func(t *testing.T) {
				w := settledWorld(t, newRelease(), objectOf("ConfigMap", "a", 0, "a1"))
				w.create(other("next"))
				w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "x", 0, "x1"))
				w.change(change)
				w.target.failures["x"] = &apply.OwnershipError{Owner: "i/team/next", Installation: "i", Claimed: true}
				w.requestSync("2026-03-01T10:00:00Z")
				w.pass()
				if then != "" {
					w.change(suspended)
				}
				standing, err := w.standing(xKey)
				w.Expect(err).NotTo(HaveOccurred())
				w.Expect(standing).To(Equal(apply.Holds))
			})
		}
	}
}

// TestHookDoesNotTakeAnObjectOver: an object that leaves is not kept for the hook of another
// Release, which cannot take it over.
func TestHookDoesNotTakeAnObjectOver(t *testing.T) {
	w := movedWorld(t)
	hook := hookOf("x", corev1alpha1.HookPreSync, func(h *render.Hook) { h.Object = objectOf("ConfigMap", "x", 0, "x2") })
	w.source.results["next main@2"] = &render.Result{Digest: "next", Inputs: "next", Hooks: []render.Hook{hook}}
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune x"}))
}
