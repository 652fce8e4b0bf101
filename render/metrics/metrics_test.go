// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/metrics"
)

type source render.Stats

func (s source) Stats() render.Stats { return render.Stats(s) }

func TestMetrics(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	g.Expect(metrics.Register(registry, source{Renders: 5, Failures: 2, Hits: 7, EndedByTime: 1, EndedByMemory: 3, EndedByCrash: 4})).To(Succeed())
	g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP convoy_render_failures_total Renders that failed.
# TYPE convoy_render_failures_total counter
convoy_render_failures_total 2
# HELP convoy_render_hits_total Renders that were given from memory.
# TYPE convoy_render_hits_total counter
convoy_render_hits_total 7
# HELP convoy_render_renders_total Renders that were run, failed ones too.
# TYPE convoy_render_renders_total counter
convoy_render_renders_total 5
# HELP convoy_render_workers_ended_total Workers that ended before their render did, by the limit that was met.
# TYPE convoy_render_workers_ended_total counter
convoy_render_workers_ended_total{reason="crash"} 4
convoy_render_workers_ended_total{reason="memory"} 3
convoy_render_workers_ended_total{reason="time"} 1
`))).To(Succeed())
	g.Expect(metrics.Register(registry, source{})).NotTo(Succeed(), "one renderer for each registry")
}
