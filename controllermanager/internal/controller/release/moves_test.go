// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// movedWorld has Release app applied with x and kept at main@1, and main@2, in which x is in
// Release next instead.
func movedWorld(t *testing.T, change ...func(*corev1alpha1.Release)) *world {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "keep", 0, "k1"), objectOf("ConfigMap", "x", 0, "x1"))
	next := other("next", change...)
	next.Spec.Source = w.release().Spec.Source
	w.create(next)
	w.source.offers("main@2", objectOf("ConfigMap", "keep", 0, "k1"))
	w.source.results["next main@2"] = &render.Result{Digest: "next", Inputs: "next", Objects: []render.Object{objectOf("ConfigMap", "x", 0, "x2")}}
	return w
}

func suspended(r *corev1alpha1.Release) { r.Spec.Suspend = true }
func pinned(r *corev1alpha1.Release)    { r.Spec.Pin = &corev1alpha1.Pin{Revision: "main@1"} }
func gated(r *corev1alpha1.Release) {
	r.Spec.Lifecycle = &corev1alpha1.LifecycleSpec{Gates: []corev1alpha1.Gate{{Name: "go", Before: "sync"}}}
}

var xKey = corev1alpha1.ObjectKey{Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "x"}

// The old owner is first: what the other Release is about to have is not deleted, and goes
// from the inventory when the other has it.
func TestMoveWhenTheOldOwnerIsFirst(t *testing.T) {
	w := movedWorld(t)
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty(), "x is not pruned")
	w.Expect(w.release().Status.Applied.Revision).To(Equal("main@2"))
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("True Applied"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(ContainSubstring("ConfigMap ns/x moves to Release next, and stays until that has taken it over"))
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(2))

	next := types.NamespacedName{Namespace: key.Namespace, Name: "next"}
	w.Expect(w.waitersFor(next)).To(ConsistOf(key), "it is looked at when the other gets on")

	w.pass("next")
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply x"}))
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune x"}), "the applier finds whose it is")
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(1))
	w.pass()
	w.Expect(w.message(corev1alpha1.ConditionApplied)).NotTo(ContainSubstring("moves"))
	w.Expect(w.waitersFor(next)).To(BeEmpty())
}

// The other Release has the object as soon as its inventory says so, whatever its status does.
func TestMoveIsOverByTheInventory(t *testing.T) {
	w := movedWorld(t)
	w.pass()
	taken := w.inventory().Spec.Entries[1]
	w.Expect(taken.Name).To(Equal("x"))
	theirs := &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "next"}}
	theirs.Spec.Entries = []corev1alpha1.InventoryEntry{taken}
	_, err := w.host.CoreV1alpha1().ReleaseInventories(key.Namespace).Create(context.Background(), theirs, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	w.pass()
	w.Expect(w.target.takeCalls()).To(Equal([]string{"prune x"}))
}

// What is waited for may happen while the pass that finds so is not over.
func TestMoveThatIsOverBeforeItIsWaitedFor(t *testing.T) {
	w := movedWorld(t)
	w.host.onWrite = func(write string) {
		if write == "update releases/status" {
			w.Expect(w.inventories.Add(&corev1alpha1.ReleaseInventory{
				ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "next", Generation: 2},
			})).To(Succeed())
		}
	}
	w.sync()
	result, err := w.Reconcile(context.Background(), key)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(Equal(time.Millisecond))
}

func TestWhoseObjectsAreNotWaitedFor(t *testing.T) {
	elsewhere := func(r *corev1alpha1.Release) { r.Spec.ClusterRef.Name = "there" }
	tests := []struct {
		name   string
		next   func(*corev1alpha1.Release)
		given  func(w *world)
		pruned bool
		event  string
	}{
		{"one that goes with the source", wave(0), nil, false, ""},
		{"one that waits at a gate", gated, nil, false, ""},
		{"one of a higher wave", wave(1), nil, false, ""},
		{"one that is suspended", suspended, nil, true, ""},
		{"one that is synced by people", manual, nil, true, ""},
		{"one that is pinned", pinned, nil, true, ""},
		{"one on another cluster", elsewhere, nil, true, ""},
		{"one that cannot be rendered", wave(0), func(w *world) {
			w.source.renderErrs = map[string]error{"next": &render.Error{Reason: corev1alpha1.ReasonRenderFailed, Message: "bad template"}}
		}, true, "Warning Pruning ConfigMap ns/x: Release next, which draws on the same source, cannot be rendered, and takes none over: bad template"},
		{"one that cannot be rendered for a moment", wave(0), func(w *world) {
			w.source.renderErrs = map[string]error{"next": clusterconn.Classify(context.DeadlineExceeded)}
		}, false, ""},
		{"one that has applied the revision without it", wave(0), func(w *world) {
			w.set("next", conditions(isTrue, isTrue, 1), func(r *corev1alpha1.Release) {
				r.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@2", Generation: 1}
			})
		}, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := movedWorld(t, tt.next)
			if tt.given != nil {
				tt.given(w)
			}
			w.pass()
			if !tt.pruned {
				w.Expect(w.target.takeCalls()).To(BeEmpty())
				return
			}
			w.Expect(w.target.takeCalls()).To(Equal([]string{"prune x"}))
			if tt.event != "" {
				w.Expect(w.events()).To(ContainElement(tt.event))
			}
		})
	}
}

// The new owner is first: the applier of next asks how app stands to x.
func TestStandingOfTheOldOwner(t *testing.T) {
	tests := []struct {
		name  string
		given func(w *world)
		want  apply.Standing
	}{
		{"its newest render does not have it", func(*world) {}, apply.Leaves},
		{"its newest render has it", func(w *world) { w.source.offers("main@3", objectOf("ConfigMap", "x", 0, "x1")) }, apply.Holds},
		{"its newest render fails", func(w *world) {
			w.source.renderErrs = map[string]error{"app": &render.Error{Message: "bad template"}}
		}, apply.Holds},
		{"it is suspended", func(w *world) { w.change(suspended) }, apply.Holds},
		{"it is synced by people", func(w *world) { w.change(manual) }, apply.Holds},
		{"it was synced by people, without the object", func(w *world) {
			w.change(func(r *corev1alpha1.Release) {
				manual(r)
				metav1.SetMetaDataAnnotation(&r.ObjectMeta, corev1alpha1.AnnotationSyncRequestedAt, "2026-03-01T10:00:00Z")
			})
			w.pass()
			w.Expect(w.release().Status.Applied.Revision).To(Equal("main@2"))
			w.Expect(w.inventory().Spec.Entries).To(ContainElement(HaveField("Name", "x")), "it waits to be taken over")
		}, apply.Leaves},
		{"it is pinned", func(w *world) { w.change(pinned) }, apply.Holds},
		{"it waits for people", func(w *world) { w.change(gated) }, apply.Holds},
		{"it is being deleted", func(w *world) { w.change(suspended); w.deleteRelease() }, apply.Leaves},
		{"its inventory does not have it", func(w *world) {
			w.change(suspended)
			w.edit(func(i *corev1alpha1.ReleaseInventory) {
				i.Spec.Entries = inventory.Without(i.Spec.Entries, corev1alpha1.InventoryEntry{ObjectKey: xKey})
			})
		}, apply.Absent},
		{"it is gone", func(w *world) {
			release := w.release()
			w.Expect(w.host.Tracker().Delete(corev1alpha1.SchemeGroupVersion.WithResource("releases"), release.Namespace, release.Name)).To(Succeed())
		}, apply.Absent},
		{"its inventory is lost", func(w *world) {
			w.Expect(w.host.Tracker().Delete(corev1alpha1.SchemeGroupVersion.WithResource("releaseinventories"), key.Namespace, key.Name)).To(Succeed())
			w.change(suspended)
		}, apply.Holds},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := movedWorld(t)
			tt.given(w)
			w.sync()
			w.pass("next")
			standing, err := w.target.options.Others.Standing(context.Background(), key, xKey)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(standing).To(Equal(tt.want))
		})
	}
}

// The caches are not believed that somebody has nothing.
func TestStandingIsReadFromTheHost(t *testing.T) {
	w := movedWorld(t)
	w.change(suspended)
	w.pass("next")
	w.Expect(w.inventories.Replace(nil, "")).To(Succeed())
	w.Expect(w.releases.Replace(nil, "")).To(Succeed())
	standing, err := w.target.options.Others.Standing(context.Background(), key, xKey)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(standing).To(Equal(apply.Holds))
}

func TestOthersByTheirInventories(t *testing.T) {
	w := movedWorld(t)
	w.pass("next")
	others := w.target.options.Others
	uid := w.inventory().Spec.Entries[1].UID
	app := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	owner, ok := others.Owner(xKey, uid)
	w.Expect(ok).To(BeTrue())
	w.Expect(owner).To(Equal(app))
	_, ok = others.Owner(xKey, "of another")
	w.Expect(ok).To(BeFalse())
	owner, object, ok := others.Inside("ns")
	w.Expect(ok).To(BeTrue())
	w.Expect(owner).To(Equal(app))
	w.Expect(object.Name).To(Equal("keep"))
	_, _, ok = others.Inside("elsewhere")
	w.Expect(ok).To(BeFalse())
	w.Expect(others.Kinds(t.Context(), "ns")).To(Equal([]schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}}))
	w.Expect(others.Kinds(t.Context(), "elsewhere")).To(BeEmpty())
}

// A conflict is tried again at once when the other Release's inventory or spec changes, and
// not before its time otherwise.
func TestConflictIsTriedAgainWhenTheOwnerChanges(t *testing.T) {
	w := movedWorld(t)
	w.source.offers("main@2", objectOf("ConfigMap", "keep", 0, "k1"), objectOf("ConfigMap", "x", 0, "x1"))
	w.target.failures["x"] = &apply.OwnershipError{Owner: corev1alpha1.ReleaseAnnotationValue("here", key.Namespace, key.Name)}
	w.pass("next")
	w.Expect(w.condition(corev1alpha1.ConditionApplied, "next")).To(Equal("False OwnershipConflict"))
	w.target.takeCalls()
	w.pass("next")
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.waitersFor(key)).To(ConsistOf(HaveField("Name", "next")))

	for _, change := range []func(){
		func() { w.change(wave(3)) },
		func() {
			w.edit(func(i *corev1alpha1.ReleaseInventory) { i.Spec.Entries = i.Spec.Entries[:1] })
		},
	} {
		change()
		w.pass("next")
		w.Expect(w.target.takeCalls()).To(Equal([]string{"apply x"}))
		w.pass("next")
		w.Expect(w.target.takeCalls()).To(BeEmpty())
	}
	delete(w.target.failures, "x")
	w.deleteRelease()
	w.pass("next")
	w.Expect(w.target.takeCalls()).To(Equal([]string{"apply x"}))
	w.Expect(w.waitersFor(key)).To(BeEmpty())
}

// What was handed over is told as such.
func TestHandOverIsTold(t *testing.T) {
	w := settledWorld(t, newRelease(), objectOf("ConfigMap", "keep", 0, "k1"), objectOf("ConfigMap", "x", 0, "x1"))
	w.target.heirs = map[string]types.NamespacedName{"x": {Namespace: "far", Name: "b"}}
	w.source.offers("main@2", objectOf("ConfigMap", "keep", 0, "k1"))
	w.pass()
	w.Expect(w.inventory().Spec.Entries).To(HaveLen(1))
	w.Expect(w.events()).To(ContainElement("Normal HandedOver ConfigMap ns/x: handed over to Release far/b"))
}

// edit writes the inventory.
func (w *world) edit(change func(*corev1alpha1.ReleaseInventory)) {
	changed := w.inventory()
	change(changed)
	_, err := w.host.CoreV1alpha1().ReleaseInventories(key.Namespace).Update(context.Background(), changed, metav1.UpdateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}
