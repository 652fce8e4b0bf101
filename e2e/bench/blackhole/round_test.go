// SPDX-License-Identifier: Apache-2.0

package blackhole

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/bench/report"
)

func release(name, revision string) *corev1alpha1.Release {
	return &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1alpha1.ReleaseStatus{Applied: &corev1alpha1.AppliedStatus{Revision: revision}},
	}
}

func TestProgress(t *testing.T) {
	g := NewWithT(t)
	w := watch.NewFakeWithChanSize(10, false)
	p := &progress{Interface: w, commit: "abc"}
	w.Add(&corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	w.Add(release("another", "main@sha1:abc"))
	w.Modify(release("a", "main@sha1:old"))
	w.Modify(release("a", "main@sha1:abc"))
	w.Add(release("b", "main@sha1:abc"))
	done, err := p.until(t.Context(), []string{"a", "b"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(done).To(And(HaveLen(2), HaveKey("a"), HaveKey("b")))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.until(ctx, []string{"c"})
	g.Expect(err).To(MatchError(context.Canceled))
	w.Stop()
	_, err = p.until(t.Context(), []string{"c"})
	g.Expect(err).To(MatchError(ContainSubstring("has ended")))
}

func TestMeasuredHasATarget(t *testing.T) {
	g := NewWithT(t)
	m := samples{ours: report.Samples{{106}}, reference: report.Samples{{100}}, oursAll: report.Samples{{104}}, referenceAll: report.Samples{{100}}}
	compared := m.compare(onset)
	g.Expect(compared).To(HaveLen(2))
	g.Expect(compared[0].Missed()).To(BeTrue())
	g.Expect(compared[1].Missed()).To(BeFalse())
	g.Expect(figures([]float64{3, 1, 2})[0].Value).To(Equal(2.0))
}

func TestNames(t *testing.T) {
	g := NewWithT(t)
	f := &fleet{}
	g.Expect(f.names(clusterName(3), 2)).To(Equal([]string{"cluster-3-0", "cluster-3-1"}))
	g.Expect(clusterOf("cluster-3-1")).To(Equal("cluster-3"))
	g.Expect(clusterOf("lost-0")).To(Equal(lost))
}
