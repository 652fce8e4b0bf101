// SPDX-License-Identifier: Apache-2.0

// Package observer is benchmark B5 and B3: how soon drift is corrected, what many Releases cost
// that nothing happens to, what convoy-observer holds of each object, what it asks when it
// starts anew, and how often it writes when much happens at once.
package observer

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
	releases int
	each     int // objects of a Release, four or more
	edits    int // rounds of drift
	rounds   int // of everything else
	idle     time.Duration
	pods     int // of the Release that much happens to
	events   int // that happen to each
}

// Variants: how long nothing happens, the same number of objects in a hundredth of the
// Releases, and four times as many objects of each Release.
const (
	oneMinute  = "one-minute"
	tenMinutes = "ten-minutes"
	large      = "large-releases"
	fourTimes  = "four-times"
)

func sizesOf(settings benchmark.Settings) sizes {
	z := sizes{releases: 1000, each: 5, edits: 100, rounds: 3, idle: 3 * time.Minute, pods: 50, events: 10}
	if settings.Quick {
		z = sizes{releases: 20, each: 5, edits: 5, rounds: 1, idle: 10 * time.Second, pods: 10, events: 10}
	}
	if settings.Has(large) {
		z.releases, z.each = max(z.releases/100, 1), z.each*100
	}
	if settings.Has(fourTimes) {
		z.each *= 4
	}
	switch {
	case settings.Has(tenMinutes):
		z.idle = 10 * time.Minute
	case settings.Has(oneMinute):
		z.idle = time.Minute
	}
	return z
}

func (z sizes) objects() int { return z.releases * z.each }

// work is something that is measured. Each leaves the Releases applied and in sync.
type work struct {
	name string
	do   func(*trial, context.Context) error
}

func works() []work {
	return []work{
		{"memory", (*trial).memory},
		{"idle", (*trial).idle},
		{"drift", (*trial).drift},
		{"restart-observer", (*trial).restart},
		{"burst", (*trial).burst},
	}
}

// Benchmark is the entry for the list.
func Benchmark() benchmark.Benchmark {
	b := benchmark.Benchmark{
		ID: "B5", Name: "observer", About: "drift corrected; B3 is idle; what convoy-observer holds, asks and writes",
		Variants: []string{oneMinute, tenMinutes, large, fourTimes}, Run: run,
	}
	for _, w := range works() {
		b.Works = append(b.Works, w.name)
	}
	return b
}

func run(ctx context.Context, settings benchmark.Settings) (_ *report.Report, err error) {
	z := sizesOf(settings)
	t, err := newTrial(ctx, z, settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.stop(ctx)) }()
	t.report = &report.Report{Settings: map[string]any{
		"releases": z.releases, "objectsOfEach": z.each, "edits": z.edits, "rounds": z.rounds, "idle": z.idle.String(), "events": z.pods * z.events,
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

// times adds the distribution of times in milliseconds.
func (t *trial) times(of, what string, samples []float64) {
	d := report.Describe(samples)
	for _, one := range []struct {
		which string
		value float64
	}{{"p50", d.P50}, {"p99", d.P99}, {"at most", d.Max}} {
		t.figure(of, what+", "+one.which, "ms", one.value)
	}
}
