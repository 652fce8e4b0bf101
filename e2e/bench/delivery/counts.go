// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"

	"kumodo.io/convoy/e2e/bench/meter"
)

// Kinds of requests to the target, by what they do to objects.
const (
	applies = "objects applied"
	reads   = "objects read"
	lists   = "lists of objects"
	deletes = "objects deleted"
)

// verbs of the metrics of a kube-apiserver.
var verbs = map[string]string{"APPLY": applies, "PATCH": applies, "POST": applies, "PUT": applies, "GET": reads, "LIST": lists, "DELETE": deletes}

// requests are counters of requests to the target for the resources that are delivered.
func requests() []meter.Counter {
	var counters []meter.Counter
	for verb, what := range verbs {
		for _, resource := range resources {
			counters = append(counters, meter.Counter{What: what, Metric: "apiserver_request_total", Labels: map[string]string{"verb": verb, "resource": resource}})
		}
	}
	return counters
}

// What the controller-manager counts.
const (
	reconciles = "passes"
	renders    = "renders"
	fetches    = "fetches"
)

func passes() []meter.Counter {
	return []meter.Counter{
		{What: reconciles, Metric: "convoy_controller_reconcile_total", Labels: map[string]string{"controller": "release"}},
		{What: renders, Metric: "convoy_render_renders_total"},
		{What: fetches, Metric: "convoy_fetch_fetches_total"},
		{What: waiting, Metric: "convoy_controller_queue_depth", Labels: map[string]string{"controller": "release"}},
	}
}

// waiting is a state, not a count: keys in the queue.
const waiting = "waiting"

// counts are sums of counters by What.
type counts map[string]float64

// count reads the counters of a process.
func count(ctx context.Context, p meter.Process) (counts, error) {
	values, err := meter.Scrape(ctx, p.Client, p.MetricsURL, p.Counters)
	if err != nil {
		return nil, err
	}
	sums := counts{}
	for i, counter := range p.Counters {
		sums[counter.What] += values[i]
	}
	return sums, nil
}

// counting does something and gives what was counted meanwhile, at the target and in the
// controller-manager.
func (t *trial) counting(ctx context.Context, do func() error) (counts, error) {
	read := func() (counts, error) {
		all, err := count(ctx, t.toTarget)
		if err != nil {
			return nil, err
		}
		more, err := count(ctx, t.manager)
		for what, value := range more {
			all[what] = value
		}
		return all, err
	}
	before, err := read()
	if err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	after, err := read()
	for what, value := range before {
		after[what] -= value
	}
	return after, err
}
