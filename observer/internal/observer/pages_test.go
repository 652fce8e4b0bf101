// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/health"
)

// setPage writes a further page of the inventory to the host, and lets the informer see it.
func (w *world) setPage(number int, entries ...corev1alpha1.InventoryEntry) {
	w.t.Helper()
	page := &corev1alpha1.ReleaseInventory{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("app.%d", number), UID: "p", Generation: 3},
		Spec:       corev1alpha1.ReleaseInventorySpec{ReleaseRef: corev1alpha1.ReleaseReference{Name: "app"}, Entries: entries},
	}
	w.store(inventories, true, page)
	w.Expect(w.inventories.Add(page)).To(Succeed())
}

func (w *world) page(number int) *corev1alpha1.ReleaseInventory {
	w.t.Helper()
	page, err := w.client.Tracker().Get(inventories, "ns", fmt.Sprintf("app.%d", number))
	w.Expect(err).NotTo(HaveOccurred())
	return page.(*corev1alpha1.ReleaseInventory)
}

// Every page of an inventory gets the health of its own entries; together they are what the
// Release has.
func TestPagesOfAnInventory(t *testing.T) {
	w := newWorld(t)
	w.cluster.Put(marked(configMap))
	w.setRelease(nothing)
	w.setEntries(entry(configMap, "d1"))
	w.setPage(1, entry(secretMap, "d3"))
	w.judge()
	w.Expect(w.statuses()).To(Equal(map[string]corev1alpha1.HealthStatus{"cm": corev1alpha1.HealthHealthy}))
	w.Expect(w.page(1).Status.Health).To(ConsistOf(And(HaveField("Name", "sec"), HaveField("Status", corev1alpha1.HealthMissing))))
	w.Expect(w.page(1).Status.ObservedGeneration).To(BeEquivalentTo(3))
	w.Expect(ReleaseOf(w.page(1))).To(Equal(key))

	report, err := w.health.Report(t.Context(), w.release())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(report.Objects).To(HaveLen(2))
	w.Expect(report.Summary).To(Equal(corev1alpha1.HealthSummary{Healthy: 1, Missing: 1}))
}

// An object on a further page is compared, and an apply that has begun there is none of drift.
func TestDriftOfAnObjectOnAFurtherPage(t *testing.T) {
	w := newWorld(t)
	w.applied(configMap)
	w.setEntries()
	w.setPage(1, entry(configMap, "digest of "+configMap))
	w.cluster.Put(marked(edited))
	w.look()
	w.Expect(w.syncs).To(Equal(1), "the object differs")

	begun := w.page(1).DeepCopy()
	begun.Generation, begun.Spec.Entries[0].Digest = 4, ""
	w.store(inventories, false, begun)
	same, err := w.drift.sameInventory(t.Context(), Pages{w.inventory(), {ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app.1", UID: "p", Generation: 3}}})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(same).To(BeFalse())
}

// However much there is to say, a page with its health fits into what etcd takes.
func TestMessagesFitIntoAPage(t *testing.T) {
	g := NewWithT(t)
	page := &corev1alpha1.ReleaseInventory{}
	var results []judgement
	for i := range 2_300 {
		page.Spec.Entries = append(page.Spec.Entries, corev1alpha1.InventoryEntry{ObjectKey: corev1alpha1.ObjectKey{
			Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("config-map-%d", i)}, Digest: "sha256:" + strings.Repeat("0", 64)})
		results = append(results, judgement{assessment: &assessment{Result: health.Result{Status: corev1alpha1.HealthDegraded, Message: strings.Repeat("x", 500)}}})
	}
	page.Status = statusOf(page, results, metav1.Now())
	data, err := json.Marshal(page)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(data)).To(BeNumerically("<", 1536<<10))
	g.Expect(page.Status.Health[0].Message).NotTo(BeEmpty())
	g.Expect(page.Status.Summary.Degraded).To(BeEquivalentTo(2_300))
}
