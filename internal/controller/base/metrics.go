// SPDX-License-Identifier: Apache-2.0

package base

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of one controller. The time of the last reconcile shows a controller that stands
// still although its process is alive.
type metrics struct {
	depths    *prometheus.GaugeVec
	waits     *prometheus.HistogramVec
	durations prometheus.Observer
	outcomes  *prometheus.CounterVec
	last      prometheus.Gauge
}

// newMetrics returns the metrics of the named controller, which shares its vectors with the
// other controllers of the registerer. They are exposed nowhere when r is nil.
func newMetrics(r prometheus.Registerer, controller string) *metrics {
	const namespace, subsystem = "convoy", "controller"
	seconds := prometheus.ExponentialBuckets(0.001, 2, 18) // 1 ms to 131 s
	byController := []string{"controller"}
	labels := prometheus.Labels{"controller": controller}
	return &metrics{
		depths: register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "queue_depth",
			Help: "Keys that wait for a worker, by priority.",
		}, []string{"controller", "priority"})).MustCurryWith(labels),
		waits: register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "queue_latency_seconds",
			Help: "Time that a key waited for a worker, by priority.", Buckets: seconds,
		}, []string{"controller", "priority"})).MustCurryWith(labels).(*prometheus.HistogramVec),
		durations: register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "reconcile_duration_seconds",
			Help: "Time that a reconcile took.", Buckets: seconds,
		}, byController)).With(labels),
		outcomes: register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "reconcile_total",
			Help: "Reconciles, by outcome.",
		}, []string{"controller", "outcome"})).MustCurryWith(labels),
		last: register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "last_reconcile_timestamp_seconds",
			Help: "When the last reconcile ended, in seconds since 1970.",
		}, byController)).With(labels),
	}
}

// register returns the collector that r has under this name, which is c for the first. It
// panics when r has another kind of collector there, which is a mistake of the program.
func register[C prometheus.Collector](r prometheus.Registerer, c C) C {
	if r == nil {
		return c
	}
	err := r.Register(c)
	if registered, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		return registered.ExistingCollector.(C)
	}
	if err != nil {
		panic(err)
	}
	return c
}

func (m *metrics) depth(p Priority, change float64) {
	m.depths.WithLabelValues(p.String()).Add(change)
}

func (m *metrics) waited(p Priority, d time.Duration) {
	m.waits.WithLabelValues(p.String()).Observe(d.Seconds())
}

func (m *metrics) reconciled(outcome string, d time.Duration, end time.Time) {
	m.durations.Observe(d.Seconds())
	m.outcomes.WithLabelValues(outcome).Inc()
	m.last.Set(float64(end.UnixNano()) / 1e9)
}
