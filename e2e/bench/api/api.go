// SPDX-License-Identifier: Apache-2.0

// Package api is benchmark B8: the API that people and programs live with. Releases served
// by convoy-apiserver behind the aggregation layer of a host are compared with the same
// objects served as a CustomResourceDefinition by the same host, in turns.
package api

import (
	"context"
	"errors"

	"kumodo.io/convoy/e2e/bench/benchmark"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/bench/stand"
	"kumodo.io/convoy/e2e/framework/installation"
)

// fillers is how many make the objects at once.
const fillers = 8

// Variants explain a figure.
const (
	masters = "masters" // requests by a member of system:masters, about whom the host is not asked
	direct  = "direct"  // convoy-apiserver is asked past the host
)

type variants struct{ masters, direct bool }

// sizes are the numbers of a run.
type sizes struct {
	objects, page, watchers int
	// applied is the number of objects that server-side apply writes again and again.
	applied        int
	rounds, warmUp int
	quick          bool
}

func sizesOf(quick bool) sizes {
	if quick {
		return sizes{objects: 500, page: 100, watchers: 50, applied: 10, rounds: 3, warmUp: 1, quick: true}
	}
	return sizes{objects: 5000, page: 500, watchers: 200, applied: 50, rounds: 15, warmUp: 1}
}

// Benchmark is the entry for the list.
func Benchmark() benchmark.Benchmark {
	b := benchmark.Benchmark{ID: "B8", Name: "api", About: "Releases through convoy-apiserver and the same as a CRD, on one host",
		Variants: []string{masters, direct}, Run: run}
	for _, o := range operations(sizesOf(false)) {
		b.Works = append(b.Works, o.name)
	}
	return b
}

func run(ctx context.Context, settings benchmark.Settings) (_ *report.Report, err error) {
	z := sizesOf(settings.Quick)
	v := variants{masters: settings.Has(masters), direct: settings.Has(direct)}
	st, err := stand.Start(ctx, stand.Options{
		Dir: settings.Dir, Only: []string{installation.APIServer}, Log: settings.Log,
		Args: map[string][]string{installation.APIServer: settings.Args},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Err(), st.Stop(ctx)) }()
	r := &report.Report{
		Ours: "convoy-apiserver behind the host", Reference: "a CustomResourceDefinition of the host",
		Settings: map[string]any{"objects": z.objects, "page": z.page, "watchers": z.watchers, "rounds": z.rounds},
	}
	t, err := newTrial(ctx, st, z, v, settings)
	if err != nil {
		return nil, err
	}
	if r.Figures, err = t.populate(ctx); err != nil {
		return nil, err
	}
	for _, o := range operations(z) {
		if !settings.Selected(o.name) {
			continue
		}
		compared, err := t.compare(ctx, o)
		if err != nil {
			return nil, err
		}
		r.Comparisons = append(r.Comparisons, compared...)
	}
	memory, err := t.memory("at the end")
	r.Figures = append(r.Figures, memory...)
	return r, err
}
