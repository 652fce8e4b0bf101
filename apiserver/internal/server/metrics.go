// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The version of the API server library, which /version shows, says nothing about convoy's
// own; and replicas that disagree about the number of shards would fight over labels.
var (
	buildInfo = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Namespace: "convoy", Subsystem: "apiserver", Name: "build_info",
		Help:           "Version of convoy-apiserver; the value is always 1.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"version"})
	shardCount = metrics.NewGauge(&metrics.GaugeOpts{
		Namespace: "convoy", Subsystem: "apiserver", Name: "shards",
		Help:           "Number of shards that this replica labels objects for. All replicas must agree.",
		StabilityLevel: metrics.ALPHA,
	})
	relabelled = metrics.NewCounter(&metrics.CounterOpts{
		Namespace: "convoy", Subsystem: "apiserver", Name: "relabelled_objects_total",
		Help:           "Number of stored objects whose label was that of another number of shards. Replicas that disagree about the number keep it rising.",
		StabilityLevel: metrics.ALPHA,
	})
	register = sync.OnceFunc(func() { legacyregistry.MustRegister(buildInfo, shardCount, relabelled) })
)

// publish sets the metrics.
func publish(version string, shards int) {
	register()
	buildInfo.WithLabelValues(version).Set(1)
	shardCount.Set(float64(shards))
}
