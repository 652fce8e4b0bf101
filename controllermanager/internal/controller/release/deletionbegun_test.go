// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// returns are ways in which the content of a deleted Release, which could not be had, can be had again.
var returns = map[string]func(w *world){
	"to the same process":    func(*world) {},
	"to another process":     func(w *world) { w.restart() },
	"and the status is lost": func(w *world) { w.erasesHooks(); w.restart() },
}

// erasesHooks takes all runs of hooks out of the status.
func (w *world) erasesHooks() {
	release := w.release()
	release.Status.Lifecycle = nil
	release.Status.Conditions = nil
	_, err := w.host.CoreV1alpha1().Releases(key.Namespace).UpdateStatus(context.Background(), release, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

// TestDeletionThatBeganWithoutHooksGoesOnWithoutThem: a backup of what is half deleted is none.
func TestDeletionThatBeganWithoutHooksGoesOnWithoutThem(t *testing.T) {
	for name, comesBack := range returns {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, newRelease())
			w.source.offers("main@1", objectOf("ConfigMap", "a", 0, "a1"), objectOf("ConfigMap", "b", 0, "b1")).Hooks = []render.Hook{
				hookOf("backup", corev1alpha1.HookPreDelete), hookOf("bye", corev1alpha1.HookPostDelete),
			}
			w.pass()
			w.target.takeCalls()
			w.events()
			w.target.lingering["a"] = true
			w.source.err = errors.New("down")
			w.deleteRelease()
			w.pass()
			w.after(defaultTimeout)
			w.pass()
			w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a", "prune b"}))
			without := w.message(corev1alpha1.ConditionReady)
			w.Expect(without).To(ContainSubstring("the Release is deleted without 2 preDelete or postDelete hooks, because what was applied cannot be rendered: down"))
			w.Expect(w.events()).To(ContainElement(HavePrefix("Warning HooksSkipped")))

			w.source.err, w.source.asked = nil, nil
			comesBack(w)
			for range 2 {
				w.pass()
				w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a"}))
				w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal(without))
			}
			w.Expect(w.source.asked).To(BeEmpty(), "the source")
			delete(w.target.lingering, "a")
			w.pass()
			w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a"}))
			w.Expect(w.release()).To(BeNil())
		})
	}
}

// TestDeletionThatHasYetToBeginRunsItsHooks: what could not be had is used while nothing is deleted.
func TestDeletionThatHasYetToBeginRunsItsHooks(t *testing.T) {
	w := backupWorld(t)
	w.loses()
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(ContainSubstring("without 1 preDelete or postDelete hook"))
	w.finds()
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal("waiting for preDelete hook backup (Job ns/backup)"))
	w.hook("backup", corev1alpha1.HookSucceeded, "")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a", "apply bye"}))
}

// TestPreDeleteHooksRunBeforeTheFirstObjectGoes: and not again, whatever becomes of what is on record of
// them, while what was deleted last is on its way.
func TestPreDeleteHooksRunBeforeTheFirstObjectGoes(t *testing.T) {
	w := backupWorld(t)
	w.hook("backup", corev1alpha1.HookSucceeded, "")
	w.target.lingering["a"] = true
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a"}))
	w.erasesHooks()
	w.restart()
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a"}))
	delete(w.target.lingering, "a")
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune a", "apply bye"}))
}

// TestDeletionLosesItsContentWhenItHasBegun: postDelete hooks that are left out then are not run against
// what their needs went with.
func TestDeletionLosesItsContentWhenItHasBegun(t *testing.T) {
	w := backupWorld(t)
	w.hook("backup", corev1alpha1.HookSucceeded, "")
	w.target.lingering["a"] = true
	w.pass()
	w.loses()
	w.pass()
	w.target.takeCalls()
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(ContainSubstring("without 1 preDelete or postDelete hook"))
	w.finds()
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionReady)).To(ContainSubstring("without 1 preDelete or postDelete hook"))
	delete(w.target.lingering, "a")
	w.pass()
	w.Expect(w.target.takeCalls()).To(And(ContainElement("prune a"), Not(ContainElement("apply bye"))))
	w.Expect(w.release()).To(BeNil())
}

// TestADeletionIsOfOneRelease: what an inventory says of the deletion of a Release, which ended by hand, is
// nothing about the next one of its name, be it that it adopts that inventory, or that it finds it as a backup
// had it.
func TestADeletionIsOfOneRelease(t *testing.T) {
	ends := func(w *world) {
		w.change(func(r *corev1alpha1.Release) { r.Finalizers = nil })
		w.Expect(w.release()).To(BeNil())
		w.create(newRelease())
	}
	for name, comes := range map[string]func(w *world, began map[string]string){
		"adopts it": func(w *world, _ map[string]string) {
			ends(w)
			w.settle()
		},
		"has written it": func(w *world, _ map[string]string) {
			ends(w)
			hooks := w.source.results["main@1"].Hooks
			w.source.offers("main@2", objectOf("ConfigMap", "a", 0, "a2")).Hooks = hooks
			w.settle()
			w.Expect(w.inventory().Annotations).NotTo(HaveKey(annotationDeletion))
		},
		"finds it in a backup": func(w *world, began map[string]string) {
			ends(w)
			w.settle()
			inventory := w.inventory()
			inventory.Annotations = began
			_, err := w.host.CoreV1alpha1().ReleaseInventories(key.Namespace).Update(context.Background(), inventory, metav1.UpdateOptions{})
			w.Expect(err).NotTo(HaveOccurred())
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := backupWorld(t)
			w.hook("backup", corev1alpha1.HookSucceeded, "")
			w.target.lingering["a"] = true
			w.pass()
			began := w.inventory().Annotations
			w.Expect(began).To(HaveKey(annotationDeletion))
			delete(w.target.lingering, "a")
			comes(w, began)
			w.target.takeCalls()
			w.deleteRelease()
			w.pass()
			w.Expect(w.message(corev1alpha1.ConditionReady)).To(Equal("waiting for preDelete hook backup (Job ns/backup)"))
			w.Expect(w.target.takeCalls()).To(Equal([]string{"prune backup", "apply backup"}), "what ran for the earlier one goes first")
		})
	}
}
