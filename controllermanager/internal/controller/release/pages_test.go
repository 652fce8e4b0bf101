// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// thousands gives n ConfigMaps with a digest each.
func thousands(n int, digest string) []render.Object {
	objects := make([]render.Object, n)
	for i := range objects {
		objects[i] = objectOf("ConfigMap", fmt.Sprintf("a-config-map-%05d", i), 0, digest)
	}
	return objects
}

// allPages reads the pages of the inventory.
func (w *world) allPages() []*corev1alpha1.ReleaseInventory {
	pages, err := w.readPages(context.Background(), key)
	w.Expect(err).NotTo(HaveOccurred())
	return pages
}

// listed counts the entries of all pages, each object once, by digest.
func (w *world) listed() map[string]int {
	seen, digests := map[string]bool{}, map[string]int{}
	for _, page := range w.allPages() {
		for _, entry := range page.Spec.Entries {
			if seen[entry.Name] {
				w.Expect(entry.Name).To(BeEmpty(), "it is on two pages")
			}
			seen[entry.Name] = true
			digests[entry.Digest]++
		}
	}
	return digests
}

// observePages writes the health of the objects of some pages.
func (w *world) observePages(pages ...*corev1alpha1.ReleaseInventory) {
	for _, page := range pages {
		page.Status = corev1alpha1.ReleaseInventoryStatus{ObservedGeneration: page.Generation}
		for _, entry := range page.Spec.Entries {
			page.Status.Health = append(page.Status.Health, corev1alpha1.ObjectHealth{ObjectKey: entry.ObjectKey, Status: corev1alpha1.HealthHealthy})
		}
		_, err := w.host.CoreV1alpha1().ReleaseInventories(key.Namespace).UpdateStatus(context.Background(), page, metav1.UpdateOptions{})
		w.Expect(err).NotTo(HaveOccurred())
	}
}

// A Release of 10,000 objects: its inventory has several pages, of which only those with
// something new are written, and goes with it.
func TestInventoryOfManyObjects(t *testing.T) {
	const n = 10_000
	w := newWorld(t, newRelease())
	w.source.offers("main@1", thousands(n, "1")...)
	w.target.onApply = func() {
		w.Expect(w.listed()).To(Equal(map[string]int{"": n}), "everything is written ahead")
		w.target.onApply = nil
	}
	w.pass()
	pages := w.allPages()
	w.Expect(len(pages)).To(BeNumerically(">", 3))
	w.Expect(w.listed()).To(Equal(map[string]int{"1": n}))
	for i, page := range pages {
		w.Expect(page.Name).To(Equal(pageName(key.Name, i)))
		w.Expect(page.OwnerReferences).To(ConsistOf(HaveField("UID", w.release().UID)))
		w.Expect(page.Finalizers).To(ConsistOf(corev1alpha1.FinalizerRelease))
		if i > 0 {
			w.Expect(page.Labels).To(HaveKeyWithValue(corev1alpha1.LabelInventoryOf, key.Name))
		}
	}

	last := len(pages) - 1
	w.observePages(pages[:last]...)
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionHealthy)).To(Equal("Unknown Progressing"), "one page is not judged yet")
	w.observePages(pages[last])
	w.pass()
	w.Expect(w.condition(corev1alpha1.ConditionReady)).To(Equal("True Ready"))
	w.Expect(w.message(corev1alpha1.ConditionHealthy)).To(Equal("10000 objects are healthy"))

	changed := thousands(n, "1")
	changed[n-1].Digest = "2"
	w.source.offers("main@2", changed...)
	w.host.forgetWrites()
	w.target.takeCalls()
	w.pass()
	w.Expect(w.target.takeCalls()).To(HaveLen(1))
	w.Expect(w.host.writes).To(Equal([]string{"patch releaseinventories", "patch releaseinventories", "update releases/status"}),
		"one page before and after the apply")
	w.Expect(w.listed()).To(Equal(map[string]int{"1": n - 1, "2": 1}))

	w.source.offers("main@3", thousands(10, "1")...)
	w.pass()
	w.Expect(w.allPages()).To(HaveLen(1), "empty pages go")
	w.Expect(w.listed()).To(Equal(map[string]int{"1": 10}))

	w.source.offers("main@4", thousands(n, "1")...)
	w.pass()
	w.deleteRelease()
	w.pass()
	w.Expect(w.release()).To(BeNil())
	w.Expect(w.allPages()).To(BeEmpty())
	w.Expect(w.target.names()).To(BeEmpty())
}

// A process that dies at any write of the pages loses no entry of what exists, and goes on.
func TestInventoryOfManyObjectsWithInterruptions(t *testing.T) {
	const n = 5_000
	w := newWorld(t, newRelease())
	down := errors.New("down")
	for _, revision := range []struct {
		name    string
		objects []render.Object
	}{
		{"main@1", thousands(n, "1")}, {"main@2", thousands(n, "2")}, {"main@3", thousands(n, "2")[n-10:]}, {"main@4", thousands(n, "4")},
	} {
		w.source.offers(revision.name, revision.objects...)
		for point := 1; ; point++ {
			// The process dies at a write of an inventory, later each time.
			left := point
			w.host.onWrite = func(write string) {
				if write == "update releaseinventories" || write == "create releaseinventories" || write == "delete releaseinventories" {
					if left--; left == 0 {
						w.host.fail[write] = down
					}
				}
			}
			w.sync()
			_, err := w.Reconcile(context.Background(), key)
			w.host.onWrite = nil
			w.restart()
			w.sync()
			listed := map[string]bool{}
			for _, page := range w.allPages() {
				for _, entry := range page.Spec.Entries {
					listed[entry.Name] = true
				}
			}
			for _, name := range w.target.names() {
				if !listed[name] {
					t.Fatalf("%s, death at write %d: %s is in no page", revision.name, point, name)
				}
			}
			if err == nil {
				break
			}
			w.Expect(err).To(MatchError(down))
		}
		w.Expect(w.release().Status.Applied.Revision).To(Equal(revision.name))
		w.Expect(w.target.names()).To(HaveLen(len(revision.objects)))
	}
}

func TestMoreObjectsThanAnInventoryHolds(t *testing.T) {
	w := newWorld(t, newRelease())
	w.source.offers("main@1", thousands(160_000, "1")...)
	w.pass()
	w.Expect(w.target.takeCalls()).To(BeEmpty())
	w.Expect(w.allPages()).To(BeEmpty())
	w.Expect(w.condition(corev1alpha1.ConditionApplied)).To(Equal("False InvalidObjects"))
	w.Expect(w.message(corev1alpha1.ConditionApplied)).To(And(
		HavePrefix("a Release cannot have 160000 objects"), HaveSuffix("divide it into several Releases")))
}
