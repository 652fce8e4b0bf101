// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"maps"
	"slices"

	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/framework/installation"
)

// requestsMetric is what API servers count requests in.
const requestsMetric = "apiserver_request_total"

// What is counted at the target, of the delivered kinds, by what it is.
const (
	reads   = "objects read"
	lists   = "lists of objects"
	watches = "watches begun"
	applies = "objects applied, dry runs in it"
)

var verbs = map[string]string{
	"GET": reads, "LIST": lists, "WATCH": watches,
	"APPLY": applies, "PATCH": applies, "POST": applies, "PUT": applies, "DELETE": "objects deleted",
}

// toTarget are counters of requests to the target for the resources that are delivered.
func toTarget() []meter.Counter {
	var counters []meter.Counter
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		for _, resource := range resources {
			counters = append(counters, meter.Counter{What: verbs[verb], Metric: requestsMetric, Labels: map[string]string{"verb": verb, "resource": resource, "subresource": ""}})
		}
	}
	return append(counters, meter.Counter{What: "all requests to the target, its own in it", Metric: requestsMetric})
}

func toHost() []meter.Counter {
	return []meter.Counter{{What: "all requests to the host, its own in it", Metric: requestsMetric}}
}

// healthWrites is how often health was written.
const healthWrites = "inventories' status written"

// toConvoy are counters of requests to convoy's API.
func toConvoy() []meter.Counter {
	counters := []meter.Counter{{What: "all requests to convoy's API", Metric: requestsMetric}}
	for _, w := range []struct{ what, resource, subresource string }{
		{healthWrites, "releaseinventories", "status"}, {"Releases' status written", "releases", "status"}, {"syncs requested", "releases", "sync"},
	} {
		for _, verb := range []string{"PUT", "PATCH", "APPLY", "POST"} {
			counters = append(counters, meter.Counter{What: w.what, Metric: requestsMetric, Labels: map[string]string{"resource": w.resource, "subresource": w.subresource, "verb": verb}})
		}
	}
	return counters
}

// What convoy-observer counts: passes of its loops since its start, keys in their queues now.
const (
	healthPasses = "passes of health"
	driftPasses  = "passes of drift"
	renders      = "renders"
	waiting      = "waiting"
)

func (t *trial) observer() meter.Process {
	return t.stand.Controllers(installation.Observer,
		meter.Counter{What: healthPasses, Metric: "convoy_controller_reconcile_total", Labels: map[string]string{"controller": "health"}},
		meter.Counter{What: driftPasses, Metric: "convoy_controller_reconcile_total", Labels: map[string]string{"controller": "drift"}},
		meter.Counter{What: renders, Metric: "convoy_render_renders_total"},
		meter.Counter{What: waiting, Metric: "convoy_controller_queue_depth", Labels: map[string]string{"controller": "health"}},
		meter.Counter{What: waiting, Metric: "convoy_controller_queue_depth", Labels: map[string]string{"controller": "drift"}})
}

// counts are sums of counters by What.
type counts map[string]float64

// count reads the counters of processes.
func count(ctx context.Context, processes ...meter.Process) (counts, error) {
	sums := counts{}
	for _, p := range processes {
		values, err := meter.Scrape(ctx, p.Client, p.MetricsURL, p.Counters)
		if err != nil {
			return nil, err
		}
		for i, counter := range p.Counters {
			sums[counter.What] += values[i]
		}
	}
	return sums, nil
}

// counting does something and gives what the API servers counted meanwhile.
func (t *trial) counting(ctx context.Context, do func() error) (counts, error) {
	before, err := count(ctx, t.toTarget, t.toHost, t.toConvoy)
	if err != nil {
		return nil, err
	}
	if err := do(); err != nil {
		return nil, err
	}
	after, err := count(ctx, t.toTarget, t.toHost, t.toConvoy)
	for what, value := range before {
		after[what] -= value
	}
	return after, err
}

// tell adds what was counted.
func (t *trial) tell(work string, seen counts) {
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.figure(work, what, "", seen[what])
	}
}
