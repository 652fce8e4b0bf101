// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"maps"

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

// writes to convoy's API.
var writes = []struct{ what, resource, subresource, verb string }{
	{"Releases written", "releases", "", "PUT"}, {"Releases written", "releases", "", "PATCH"}, {"Releases written", "releases", "", "POST"},
	{"Releases' status written", "releases", "status", "PUT"}, {"Releases' status written", "releases", "status", "PATCH"},
	{"inventories made", "releaseinventories", "", "POST"},
	{"inventories written", "releaseinventories", "", "PUT"}, {"inventories written", "releaseinventories", "", "PATCH"},
	{"inventories' status written", "releaseinventories", "status", "PUT"}, {"inventories' status written", "releaseinventories", "status", "PATCH"},
	{"Releases and inventories read", "releases", "", "GET"}, {"Releases and inventories read", "releaseinventories", "", "GET"},
}

// toConvoy are counters of requests to convoy's API.
func toConvoy() []meter.Counter {
	var counters []meter.Counter
	for _, w := range writes {
		counters = append(counters, meter.Counter{What: w.what, Metric: "apiserver_request_total",
			Labels: map[string]string{"resource": w.resource, "subresource": w.subresource, "verb": w.verb}})
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

// counting does something and gives what was counted meanwhile, at the target, at convoy's API
// and in the controller-manager.
func (t *trial) counting(ctx context.Context, do func() error) (counts, error) {
	read := func() (counts, error) {
		all := counts{}
		for _, process := range []meter.Process{t.toTarget, t.toConvoy, t.manager} {
			more, err := count(ctx, process)
			if err != nil {
				return nil, err
			}
			maps.Copy(all, more)
		}
		return all, nil
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
