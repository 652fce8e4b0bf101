// SPDX-License-Identifier: Apache-2.0

// Package blackhole is benchmark B12: what a target cluster that loses all packets costs the
// others. Ten Clusters have Releases to be synced; the tenth is behind a network that loses
// everything, from the moment at which syncs are asked for (onset) and after convoy has found
// that out (outage), or it is suspended, so that its Releases wait as well.
package blackhole

import (
	"context"
	"errors"

	"kumodo.io/convoy/e2e/bench/benchmark"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/bench/stand"
	"kumodo.io/convoy/e2e/framework/installation"
)

// works are the times at which the others are measured.
const (
	onset  = "onset"
	outage = "outage"
)

// target is the ratio of the times to reach.
const target = 1.05

// sizes are the numbers of a run.
type sizes struct {
	clusters int // that are well
	releases int // of each of them
	lost     int // Releases of the one that is not
	objects  int // of each Release
	rounds   int
}

func sizesOf(quick bool) sizes {
	if quick {
		return sizes{clusters: 9, releases: 1, lost: 5, objects: 2, rounds: 2}
	}
	return sizes{clusters: 9, releases: 4, lost: 20, objects: 5, rounds: 9}
}

// Benchmark is the entry for the list.
func Benchmark() benchmark.Benchmark {
	return benchmark.Benchmark{
		ID: "B12", Name: "blackhole", About: "nine clusters while a tenth loses all packets, and while it is suspended",
		Works: []string{onset, outage}, Run: run,
	}
}

func run(ctx context.Context, settings benchmark.Settings) (_ *report.Report, err error) {
	z := sizesOf(settings.Quick)
	st, err := stand.Start(ctx, stand.Options{
		Dir: settings.Dir, Only: []string{installation.APIServer, installation.ControllerManager}, Log: settings.Log,
		Args: map[string][]string{installation.APIServer: settings.Args},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Err(), st.Stop(ctx)) }()
	f, err := newFleet(ctx, st, z, settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close(ctx)) }()
	m := measured{onset: {}, outage: {}}
	var back []float64
	for round := range z.rounds {
		settings.Say("round %d of %d", round+1, z.rounds)
		took, err := f.round(ctx, round, m)
		if err != nil {
			return nil, err
		}
		back = append(back, took)
	}
	r := &report.Report{
		Ours: "with a cluster that loses packets", Reference: "with a suspended one",
		Settings: map[string]any{"clusters": z.clusters + 1, "releases": z.clusters * z.releases, "releases of the lost one": z.lost, "objects of each": z.objects, "rounds": z.rounds},
	}
	for _, work := range []string{onset, outage} {
		if settings.Selected(work) {
			r.Comparisons = append(r.Comparisons, m[work].compare(work)...)
		}
	}
	r.Figures = figures(back)
	return r, nil
}
