// SPDX-License-Identifier: Apache-2.0

package release

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// metrics tell what passes do. Clusters are named in them, Releases are not: there are far
// fewer of the ones than of the others. What is told of a cluster goes with its last Release.
type metrics struct {
	steps   *prometheus.HistogramVec
	objects *prometheus.CounterVec
	lead    *prometheus.HistogramVec
}

// labelCluster names a cluster, as namespace/name of its Cluster. It is not called cluster: that
// is what people who watch many clusters from one place call the one that is watched.
const labelCluster = "target_cluster"

// newMetrics makes the metrics; they are exposed nowhere when r is nil.
func newMetrics(r prometheus.Registerer) *metrics {
	const namespace, subsystem = "convoy", "release"
	m := &metrics{
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "step_duration_seconds",
			Help: "Time that a step of a pass took.", Buckets: []float64{.001, .01, .1, 1, 10, 60},
		}, []string{"step"}),
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "objects_total",
			Help: "Objects that were sent to a cluster or removed from it, by what came of it.",
		}, []string{labelCluster, "outcome"}),
		lead: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "lead_time_seconds",
			Help: "Time from when a new revision was first seen until it was applied.", Buckets: []float64{1, 5, 15, 60, 300, 1800},
		}, []string{labelCluster}),
	}
	if r != nil {
		r.MustRegister(m.steps, m.objects, m.lead)
	}
	return m
}

func (m *metrics) step(name string, took time.Duration) {
	m.steps.WithLabelValues(name).Observe(took.Seconds())
}

// changed counts what a pass did on a cluster.
func (m *metrics) changed(cluster string, n changes) {
	for outcome, count := range map[string]int{
		"created": n.created, "configured": n.configured, "unchanged": n.unchanged, "pruned": n.pruned, "failed": n.failed,
	} {
		if count > 0 {
			m.objects.WithLabelValues(cluster, outcome).Add(float64(count))
		}
	}
}

func (m *metrics) applied(cluster string, lead time.Duration) {
	m.lead.WithLabelValues(cluster).Observe(lead.Seconds())
}

// forget drops what is told of a cluster.
func (m *metrics) forget(cluster string) {
	of := prometheus.Labels{labelCluster: cluster}
	m.objects.DeletePartialMatch(of)
	m.lead.DeletePartialMatch(of)
}

// sightings remember since when Releases are to get a revision that they do not have yet.
type sightings struct {
	mu sync.Mutex
	of map[types.NamespacedName]sighting
}

type sighting struct {
	revision string
	at       time.Time
}

// saw notes that a revision is wanted.
func (o *sightings) saw(release types.NamespacedName, revision string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[types.NamespacedName]sighting{}
	}
	if o.of[release].revision != revision {
		o.of[release] = sighting{revision, now}
	}
}

// ended gives how long ago a revision was first wanted, and forgets it. ok is false when that
// is not known.
func (o *sightings) ended(release types.NamespacedName, revision string, now time.Time) (lead time.Duration, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen, ok := o.of[release]
	delete(o.of, release)
	return now.Sub(seen.at), ok && seen.revision == revision
}

func (o *sightings) forget(release types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.of, release)
}
