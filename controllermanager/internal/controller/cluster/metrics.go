// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// The series of a cluster are made of its status when they are asked for: they go with it,
// and with the shard.
var (
	labels = []string{"target_cluster"} // namespace/name
	up     = prometheus.NewDesc("convoy_cluster_up",
		"Whether a Cluster is Ready, as of its last probe.", labels, nil)
	latency = prometheus.NewDesc("convoy_cluster_latency_seconds",
		"Time that the API server of a Cluster took to answer its last probe.", labels, nil)
	open = prometheus.NewDesc("convoy_cluster_breaker_open",
		"Whether requests to a Cluster fail at once because it does not answer.", labels, nil)
)

// collector gives the metrics of the Clusters that the controller owns.
type collector struct{ c *Controller }

// register exposes the metrics, unless r is nil.
func (c *Controller) register(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	return r.Register(collector{c})
}

// Describe names the metrics.
func (collector) Describe(to chan<- *prometheus.Desc) {
	to <- up
	to <- latency
	to <- open
}

// Collect gives the metrics as they are now.
func (m collector) Collect(to chan<- prometheus.Metric) {
	for _, cluster := range m.c.clusters() {
		key := nameOf(cluster)
		ready := meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady)
		if ready == nil || !m.c.owns(key) {
			continue
		}
		gauge := func(desc *prometheus.Desc, value float64) {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, key.String())
		}
		gauge(up, number(meta.IsStatusConditionTrue(cluster.Status.Conditions, corev1alpha1.ConditionReady)))
		gauge(open, number(m.c.config.Prober.Unreachable(key.Namespace, key.Name)))
		if took := cluster.Status.Latency; took != nil {
			gauge(latency, took.Seconds())
		}
	}
}

func number(truth bool) float64 {
	if truth {
		return 1
	}
	return 0
}
