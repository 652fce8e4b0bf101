// SPDX-License-Identifier: Apache-2.0

package release

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// census counts the Releases that the controller owns when it is asked, by cluster and by what
// their conditions say: the series go with the Releases, and with the shard.
type census struct{ c *Controller }

var (
	releases = prometheus.NewDesc("convoy_releases",
		"Releases, by what a condition of theirs says.", []string{labelCluster, "condition", "status"}, nil)
	counted = []string{
		corev1alpha1.ConditionReady, corev1alpha1.ConditionApplied, corev1alpha1.ConditionHealthy, corev1alpha1.ConditionInSync,
	}
)

// Describe names the metric.
func (census) Describe(to chan<- *prometheus.Desc) { to <- releases }

// Collect counts.
func (m census) Collect(to chan<- prometheus.Metric) {
	type series struct{ cluster, condition, status string }
	counts := map[series]int{}
	for _, object := range m.c.releases.List() {
		release, ok := object.(*corev1alpha1.Release)
		if !ok || !m.c.owns(nameOf(release)) {
			continue
		}
		for _, name := range counted {
			status := metav1.ConditionUnknown
			if condition := meta.FindStatusCondition(release.Status.Conditions, name); condition != nil {
				status = condition.Status
			}
			counts[series{clusterNameOf(release), name, string(status)}]++
		}
	}
	for s, n := range counts {
		to <- prometheus.MustNewConstMetric(releases, prometheus.GaugeValue, float64(n), s.cluster, s.condition, s.status)
	}
}

// owns tells whether this process works on a Release.
func (c *Controller) owns(release types.NamespacedName) bool {
	return c.config.Harness.Owned == nil || c.config.Harness.Owned(release)
}
