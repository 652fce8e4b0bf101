// SPDX-License-Identifier: Apache-2.0

// Package metrics tells Prometheus what a fetch.Coordinator does. It stands apart so that
// whoever needs no metrics links no Prometheus.
package metrics

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"kumodo.io/convoy/fetch"
)

// Source gives the counts; a *fetch.Coordinator is one.
type Source interface {
	Stats() fetch.Stats
}

// metric is one of the metrics and where its values come from.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(s fetch.Stats, emit func(value float64, labels ...string))
}

func counter(name, help string, labels []string, value func(fetch.Stats, func(float64, ...string))) metric {
	return metric{prometheus.NewDesc("convoy_fetch_"+name, help, labels, nil), prometheus.CounterValue, value}
}

func gauge(name, help string, value func(fetch.Stats) int64) metric {
	return metric{prometheus.NewDesc("convoy_fetch_"+name, help, nil, nil), prometheus.GaugeValue,
		func(s fetch.Stats, emit func(float64, ...string)) { emit(float64(value(s))) }}
}

func total(name, help string, value func(fetch.Stats) int64) metric {
	return counter(name, help, nil, func(s fetch.Stats, emit func(float64, ...string)) { emit(float64(value(s))) })
}

func perKind(name, help string, value func(fetch.KindStats) int64) metric {
	return counter(name, help, []string{"kind"}, func(s fetch.Stats, emit func(float64, ...string)) {
		for _, kind := range slices.Sorted(maps.Keys(s.Kinds)) {
			emit(float64(value(s.Kinds[kind])), kind)
		}
	})
}

func failures(s fetch.Stats, emit func(float64, ...string)) {
	for _, kind := range slices.Sorted(maps.Keys(s.Kinds)) {
		for _, reason := range slices.Sorted(maps.Keys(s.Kinds[kind].Failures)) {
			emit(float64(s.Kinds[kind].Failures[reason]), kind, reason)
		}
	}
}

// collector collects the metrics of one coordinator. Its labels are kinds of sources and
// reasons, of which there are a few: never names, hosts or URLs.
type collector struct {
	source  Source
	metrics []metric
}

// NewCollector returns the collector of a coordinator, to be registered once.
func NewCollector(source Source) prometheus.Collector {
	return &collector{source: source, metrics: []metric{
		perKind("fetches_total", "Fetches of content from sources, failed ones too.", func(k fetch.KindStats) int64 { return k.Fetches }),
		perKind("questions_total", "Questions to sources about references, indexes and tags, failed ones too.", func(k fetch.KindStats) int64 { return k.Questions }),
		perKind("received_bytes_total", "Bytes that came from sources, as they come.", func(k fetch.KindStats) int64 { return k.Received }),
		counter("failures_total", "Operations on the network that failed.", []string{"kind", "reason"}, failures),
		total("hits_total", "Answers and content that were given from memory.", func(s fetch.Stats) int64 { return s.Hits }),
		total("shared_total", "Callers that waited for what another one was doing.", func(s fetch.Stats) int64 { return s.Shared }),
		total("evicted_total", "Artifacts that were forgotten because others needed their room.", func(s fetch.Stats) int64 { return s.Evicted }),
		gauge("running", "Operations on the network that are under way.", func(s fetch.Stats) int64 { return int64(s.Running) }),
		gauge("waiting", "Callers that wait.", func(s fetch.Stats) int64 { return int64(s.Waiting) }),
		gauge("held_artifacts", "Artifacts in the cache.", func(s fetch.Stats) int64 { return int64(s.Artifacts) }),
		gauge("held_bytes", "Bytes of the artifacts in the cache.", func(s fetch.Stats) int64 { return s.Bytes }),
		gauge("taking_bytes", "Bytes that are held of what is being taken in.", func(s fetch.Stats) int64 { return s.TakingBytes }),
		gauge("answer_bytes", "Bytes that are held to answer questions from memory.", func(s fetch.Stats) int64 { return s.AnswerBytes }),
	}}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		to <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	stats := c.source.Stats()
	for _, m := range c.metrics {
		m.value(stats, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
		})
	}
}
