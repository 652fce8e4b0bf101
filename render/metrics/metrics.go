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
	return nil
}
