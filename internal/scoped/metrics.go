// SPDX-License-Identifier: Apache-2.0

package scoped

import "github.com/prometheus/client_golang/prometheus"

// collector tells what a Set holds when it is asked.
type collector struct {
	set             *Set
	shards, objects *prometheus.Desc
}

// Collector gives the metrics of a Set, of a component such as "convoy-cm".
func (s *Set) Collector(component string) prometheus.Collector {
	labels := prometheus.Labels{"component": component}
	return collector{
		set:     s,
		shards:  prometheus.NewDesc("convoy_shards_cached", "Shards that this replica has all objects of in memory.", nil, labels),
		objects: prometheus.NewDesc("convoy_shard_objects_cached", "Objects of shards that this replica has in memory.", []string{"kind"}, labels),
	}
}

// Describe names the metrics.
func (c collector) Describe(to chan<- *prometheus.Desc) { to <- c.shards; to <- c.objects }

// Collect counts.
func (c collector) Collect(to chan<- prometheus.Metric) {
	c.set.mu.RLock()
	held := len(c.set.held)
	c.set.mu.RUnlock()
	to <- prometheus.MustNewConstMetric(c.shards, prometheus.GaugeValue, float64(held))
	for _, m := range c.set.members {
		to <- prometheus.MustNewConstMetric(c.objects, prometheus.GaugeValue, float64(m.Len()), m.Name())
	}
}
