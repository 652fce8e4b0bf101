// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"net/http"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// A process that has just started waits for its watches, which tell of all objects in a few
// requests, rather than ask for each.
func TestAStartWaitsForTheWatches(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap, other)
	var entries []corev1alpha1.InventoryEntry
	for _, manifest := range []string{configMap, other} {
		one := entry(manifest, "digest of "+manifest)
		one.ResourceVersion = w.live(manifest)
		entries = append(entries, one)
	}
	w.setEntries(entries...)
	w.setSpecOf(w.release().Generation)
	list := make(chan struct{})
	answer := sync.OnceFunc(func() { close(list) })
	t.Cleanup(answer)
	w.cluster.Handle("GET /api/v1/configmaps", func(rw http.ResponseWriter, r *http.Request) {
		<-list
		w.cluster.Handle("GET /api/v1/configmaps", nil)
		w.cluster.ServeHTTP(rw, r)
	})

	for _, loop := range []func() (any, error){
		func() (any, error) { return w.health.Reconcile(t.Context(), key) },
		func() (any, error) { return w.drift.Reconcile(t.Context(), key) },
	} {
		result, err := loop()
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(result).To(HaveField("RequeueAfter", catchUpRetry))
	}
	w.Expect(w.cluster.Asked()).To(BeEmpty())
	w.Expect(w.writes()).To(BeEmpty())

	answer()
	w.judge()
	w.look()
	w.Expect(w.cluster.Asked()).To(BeEmpty(), "all are as they were applied")
	w.Expect(w.asked).To(BeZero(), "no render is made")
	w.expectInSync("True InSync", "2 objects are as applied")
	w.Expect(*w.inventory().Status.Summary).To(Equal(corev1alpha1.HealthSummary{Healthy: 2}))
}

// The inventory may come later than the Release that says that all is applied. No render is
// needed to see that.
func TestAnInventoryThatIsBehind(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap, other)
	w.setEntries(entry(configMap, ""), entry(other, ""))
	w.Expect(w.look().RequeueAfter).To(Equal(syncPatience))
	w.Expect(w.asked).To(BeZero())
}
