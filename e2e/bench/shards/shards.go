// SPDX-License-Identifier: Apache-2.0

// Package shards is benchmark B10: what a replica holds in memory when several share the
// work, and how soon others take over from one that is killed or paused.
package shards

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kumodo.io/convoy/e2e/bench/benchmark"
	"kumodo.io/convoy/e2e/bench/report"
)

// sizes are the numbers of a run.
type sizes struct {
	releases int // of objectsOfOne objects each
	rounds   int
	// rest is how long nothing happens before memory is read: longer than processes wait until
	// they give back what they do not need.
	rest time.Duration
}

// counts of replicas of each controller, one after the other.
var counts = []int{1, 2, 4}

const (
	// shards in all; each replica of the most has two.
	shards = 8
	// clustersOfOne is how many Clusters each shard has: all shards weigh the same.
	clustersOfOne = 2
	objectsOfOne  = 2
)

func sizesOf(quick bool) sizes {
	if quick {
		return sizes{releases: 64, rounds: 1, rest: 5 * time.Second}
	}
	return sizes{releases: 2000, rounds: 5, rest: 30 * time.Second}
}

// work is something that is measured. Each leaves all replicas at work and the Releases applied.
type work struct {
	name string
	do   func(*trial, context.Context) error
}

func works() []work {
	return []work{
		{"share", (*trial).share},
		{"killed", (*trial).killed},
		{"paused", (*trial).paused},
	}
}

// Benchmark is the entry for the list.
func Benchmark() benchmark.Benchmark {
	b := benchmark.Benchmark{ID: "B10", Name: "shards", About: "memory of replicas that share the work, and the time until others take over from one that is killed or paused", Run: run}
	for _, w := range works() {
		b.Works = append(b.Works, w.name)
	}
	return b
}

func run(ctx context.Context, settings benchmark.Settings) (_ *report.Report, err error) {
	z := sizesOf(settings.Quick)
	t, err := newTrial(ctx, z, settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.stop(ctx)) }()
	t.report = &report.Report{Settings: map[string]any{
		"releases": z.releases, "objectsOfEach": objectsOfOne, "shards": shards, "clusters": shards * clustersOfOne, "replicas": counts, "rounds": z.rounds,
	}}
	for _, w := range works() {
		if !settings.Selected(w.name) {
			continue
		}
		settings.Say("measuring %s", w.name)
		if err := w.do(t, ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return t.report, nil
}

func (t *trial) figure(of, what, unit string, value float64) {
	t.report.Figures = append(t.report.Figures, report.Figure{Of: of, What: what, Unit: unit, Value: value})
}

// times adds what rounds took, in seconds: the median and the extremes.
func (t *trial) times(of, what string, samples []float64) {
	d := report.Describe(samples)
	for _, one := range []struct {
		which string
		value float64
	}{{"p50", report.Median(samples)}, {"at least", d.Min}, {"at most", d.Max}} {
		t.figure(of, what+", "+one.which, "s", one.value)
	}
}
