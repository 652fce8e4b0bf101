// SPDX-License-Identifier: Apache-2.0

// Package metrics tells Prometheus what a render.Renderer does. It stands apart so that
// whoever needs no metrics links no Prometheus.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"kumodo.io/convoy/render"
)

// Source gives the counts; a *render.Renderer is one.
type Source interface {
	Stats() render.Stats
}

// Register registers the metrics of a renderer. The error is the registerer's.
func Register(r prometheus.Registerer, source Source) error {
	for _, m := range []struct {
		name, help string
		value      func(render.Stats) int64
	}{
		{"renders_total", "Renders that were run, failed ones too.", func(s render.Stats) int64 { return s.Renders }},
		{"failures_total", "Renders that failed.", func(s render.Stats) int64 { return s.Failures }},
		{"hits_total", "Renders that were given from memory.", func(s render.Stats) int64 { return s.Hits }},
	} {
		err := r.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "convoy", Subsystem: "render", Name: m.name, Help: m.help},
			func() float64 { return float64(m.value(source.Stats())) }))
		if err != nil {
			return err
		}
	}
	return registerEnded(r, source)
}

// registerEnded registers the counters of workers that ended.
func registerEnded(r prometheus.Registerer, source Source) error {
	for reason, value := range map[string]func(render.Stats) int64{
		"time":   func(s render.Stats) int64 { return s.EndedByTime },
		"memory": func(s render.Stats) int64 { return s.EndedByMemory },
		"crash":  func(s render.Stats) int64 { return s.EndedByCrash },
	} {
		err := r.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: "convoy", Subsystem: "render", Name: "workers_ended_total",
			Help:        "Workers that ended before their render did, by the limit that was met.",
			ConstLabels: prometheus.Labels{"reason": reason},
		}, func() float64 { return float64(value(source.Stats())) }))
		if err != nil {
			return err
		}
	}
	return nil
}
