// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// manyDeployments makes the world one in which so many were applied, were written to by their
// controller since, and were looked at by both loops.
func (w *world) manyDeployments(many int) {
	w.t.Helper()
	var all []string
	for i := range many {
		all = append(all, strings.Replace(ready, "name: web", fmt.Sprintf("name: web-%04d", i), 1))
	}
	w.applied(all...)
	w.judge() // writes health, which makes another inventory
	w.look()
	w.Expect(*w.inventory().Status.Summary).To(Equal(corev1alpha1.HealthSummary{Healthy: int32(many)}))
	w.expectInSync("True InSync", "")
}

// TestWhatIsHeldOfAnObject measures what the loops and the watch hold of each object, beside the
// inventory in its present state: of objects that controllers have written to since they were
// applied, of which the most is to be remembered.
func TestWhatIsHeldOfAnObject(t *testing.T) {
	const many = 500
	w := newWorld(t)
	w.manyDeployments(many)
	w.Expect(w.drift.known[key].clean).To(HaveLen(many))
	with := memoryStats().HeapAlloc
	w.health.Forget(key)
	w.drift.Forget(key)
	w.host.Tracker.Stop()
	each := (int64(with) - int64(memoryStats().HeapAlloc)) / many
	t.Logf("%d bytes for each object", each)
	w.Expect(each).To(And(BeNumerically(">", 50), BeNumerically("<", 500)))
}

// TestWhatAPassAtRestAllocates measures the garbage of passes that find nothing new, which is
// resident until it is collected.
func TestWhatAPassAtRestAllocates(t *testing.T) {
	const many, passes = 500, 10
	w := newWorld(t)
	w.manyDeployments(many)
	w.writes()
	w.cluster.Asked()
	w.clock.Step(rest)
	before := memoryStats().TotalAlloc
	for range passes {
		_, err1 := w.health.Reconcile(t.Context(), key)
		_, err2 := w.drift.Reconcile(t.Context(), key)
		w.Expect([]error{err1, err2}).To(HaveEach(BeNil()))
	}
	each := (memoryStats().TotalAlloc - before) / many / passes
	t.Logf("%d bytes for each object and pass", each)
	w.Expect(each).To(BeNumerically("<", 400))
	w.Expect(w.cluster.Asked()).To(BeEmpty())
	w.Expect(w.writes()).To(BeEmpty())
}

// memoryStats are those without garbage. What a finalizer or a cleanup frees is gone after a
// second collection.
func memoryStats() runtime.MemStats {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats
}
