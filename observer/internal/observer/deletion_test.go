// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// What goes at once when a Release is deleted is seen by whoever deletes it. What takes its
// time is waited for, and what is left after a while is told.
func TestHealthDuringADeletion(t *testing.T) {
	leave := func(w *world) {
		w.cluster.Put(changed(marked(ready), func(o *unstructured.Unstructured) {
			o.SetDeletionTimestamp(&metav1.Time{Time: w.clock.Now()})
			o.SetFinalizers([]string{"foregroundDeletion"})
		}))
		w.awaitWatch(ready)
	}
	gone := func(w *world, manifest string) {
		w.cluster.Delete(manifest)
		w.awaitWatch(manifest)
	}
	for _, test := range []struct {
		name string
		do   []func(w *world)
		want []int // writes by each step
	}{
		{"all goes at once", []func(w *world){
			func(w *world) { gone(w, configMap) },
			func(w *world) { gone(w, ready); w.clock.Step(5 * time.Second) },
			func(w *world) { w.setEntries() },
		}, []int{0, 0, 0}},
		{"something takes its time", []func(w *world){
			leave,
			func(w *world) { gone(w, configMap) },
			func(w *world) { gone(w, ready) },
		}, []int{0, 0, 1}},
		{"something does not go", []func(w *world){
			leave,
			func(w *world) { w.clock.Step(deletion) },
			nothingMore,
		}, []int{0, 1, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Put(marked(configMap))
			w.cluster.Put(marked(ready))
			w.setRelease(nothing)
			w.setEntries(entry(configMap, "d1"), entry(ready, "d2"))
			w.judge()
			w.awaitWatch(configMap)
			w.awaitWatch(ready)
			w.setRelease(func(r *corev1alpha1.Release) {
				r.DeletionTimestamp, r.Finalizers = &metav1.Time{Time: w.clock.Now()}, []string{corev1alpha1.FinalizerRelease}
			})
			w.writes()
			for i, do := range test.do {
				do(w)
				w.judge()
				w.Expect(w.writes()).To(HaveLen(test.want[i]), "step %d", i)
			}
		})
	}
}

func nothingMore(*world) {}
