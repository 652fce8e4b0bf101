// SPDX-License-Identifier: Apache-2.0

// Package delivery is benchmark B1, B2 and B4: what it takes to bring Releases into a
// cluster, to find that nothing is to be done, and to bring one change. A bare client that
// applies the same objects to the same cluster, with as many requests at once, is what the
// times are compared with.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kumodo.io/convoy/e2e/bench/benchmark"
	"kumodo.io/convoy/e2e/bench/report"
)

// sizes are the numbers of a run.
type sizes struct {
	releases int // of objectsOfOne objects each
	large    int // objects of the one large Release
	rounds   int
}

func sizesOf(quick bool) sizes {
	if quick {
		return sizes{releases: 20, large: 200, rounds: 1}
	}
	return sizes{releases: 200, large: 5000, rounds: 5}
}

// work is something that is measured. Each leaves the Releases applied and unchanged.
type work struct {
	name string
	do   func(*trial, context.Context) error
}

func works() []work {
	return []work{
		{"fleet", (*trial).fleet},
		{"large", (*trial).large},
		{"resync", (*trial).resync},
		{"restart", (*trial).restart},
		{"sync", (*trial).sync},
		{"change", (*trial).change},
		{"stuck", (*trial).stuck},
	}
}

// Benchmark is the entry for the list.
func Benchmark() benchmark.Benchmark {
	b := benchmark.Benchmark{ID: "B1", Name: "delivery", About: "Releases brought into a cluster, and the same objects applied by a bare client; B2 is resync, B4 change", Run: run}
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
	t.report = &report.Report{
		Ours: "convoy", Reference: "a bare client that applies the same objects",
		Settings: map[string]any{"releases": z.releases, "objectsOfEach": objectsOfOne, "large": z.large, "rounds": z.rounds, "requestsAtOnce": requestsAtOnce},
	}
	for _, w := range works() {
		if !settings.Selected(w.name) {
			continue
		}
		settings.Say("measuring %s", w.name)
		if err := w.do(t, ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return t.report, t.memory()
}

// figure adds what a work gave in its rounds: the median, and the extremes when they differ.
func (t *trial) figure(of, what, unit string, values []float64) {
	add := func(which string, value float64) {
		t.report.Figures = append(t.report.Figures, report.Figure{Of: of, What: what + which, Unit: unit, Value: value})
	}
	add("", report.Median(values))
	if low, high := slices.Min(values), slices.Max(values); low != high {
		add(", lowest", low)
		add(", highest", high)
	}
}
