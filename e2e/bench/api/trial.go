// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"kumodo.io/convoy/e2e/bench/benchmark"
	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/bench/parallel"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/bench/stand"
)

// profileTime is how long servers are profiled for an operation of a subject.
const profileTime = 10 * time.Second

// trial measures operations on the two subjects.
type trial struct {
	sides
	sizes    sizes
	settings benchmark.Settings
	meter    *meter.Meter
	servers  []stand.Server
}

func newTrial(ctx context.Context, st *stand.Stand, z sizes, v variants, settings benchmark.Settings) (*trial, error) {
	t := &trial{sizes: z, settings: settings}
	var err error
	if t.sides, err = prepare(ctx, st, v); err != nil {
		return nil, err
	}
	host, err := st.HostServer()
	if err != nil {
		return nil, err
	}
	convoy, err := st.ConvoyServer()
	if err != nil {
		return nil, err
	}
	etcd, err := st.Etcd()
	if err != nil {
		return nil, err
	}
	t.servers = []stand.Server{host, convoy}
	t.meter, err = meter.New(ctx, host.Process(append(counters(), reviews)...), convoy.Process(counters()...), etcd, meter.Process{Name: "client", PID: os.Getpid()})
	return t, err
}

// counters of an API server. Requests are counted where priority and fairness lets them in:
// the aggregation layer counts those that it passes on nowhere else.
func counters() []meter.Counter {
	return append(meter.Allocations(),
		meter.Counter{What: "requests", Metric: "apiserver_flowcontrol_dispatched_requests_total"},
		meter.Counter{What: "requests to etcd", Metric: "etcd_requests_total"})
}

// reviews are the questions of convoy-apiserver whether a user may do something.
var reviews = meter.Counter{What: "SubjectAccessReviews", Metric: "apiserver_request_total", Labels: map[string]string{"resource": "subjectaccessreviews"}}

// populate makes the objects of both subjects, and gives what the servers hold before,
// between and after.
func (t *trial) populate(ctx context.Context) ([]report.Figure, error) {
	figures, err := t.live(ctx, "without objects")
	if err != nil {
		return nil, err
	}
	for _, s := range t.both(0) {
		t.settings.Say("making %d objects of %s", t.sizes.objects, s.name)
		if err := populate(ctx, s, t.sizes.objects); err != nil {
			return nil, err
		}
		more, err := t.live(ctx, fmt.Sprintf("with %d of %s", t.sizes.objects, s.name))
		if err != nil {
			return nil, err
		}
		figures = append(figures, more...)
		var list bytes.Buffer
		if err := s.send(ctx, request{path: s.path(namespace, objectName(0))}, &list); err != nil {
			return nil, err
		}
		figures = append(figures, report.Figure{Of: s.name, What: "an object in JSON", Unit: "bytes", Value: float64(list.Len())})
	}
	return figures, nil
}

// live gives what the servers' heaps hold after a collection.
func (t *trial) live(ctx context.Context, when string) ([]report.Figure, error) {
	var figures []report.Figure
	for _, s := range t.servers {
		bytes, err := s.LiveHeap(ctx)
		if err != nil {
			return nil, err
		}
		figures = append(figures, report.Figure{Of: s.Name, What: "live heap " + when, Unit: "MiB", Value: bytes / (1 << 20)})
	}
	return figures, nil
}

func (t *trial) memory(when string) ([]report.Figure, error) {
	usages, err := t.meter.Memory()
	if err != nil {
		return nil, err
	}
	var figures []report.Figure
	for name, usage := range usages {
		figures = append(figures,
			report.Figure{Of: name, What: "resident " + when, Unit: "MiB", Value: float64(usage.Resident >> 20)},
			report.Figure{Of: name, What: "resident at most", Unit: "MiB", Value: float64(usage.Peak >> 20)})
	}
	slices.SortFunc(figures, func(a, b report.Figure) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.What, b.What)) })
	return figures, nil
}

// record is what was measured of one subject: samples by measure and round, in
// milliseconds, and what an operation cost, by round.
type record struct {
	samples []report.Samples
	costs   []meter.Costs
}

// compare measures an operation on both subjects, in turns.
func (t *trial) compare(ctx context.Context, o operation) ([]report.Comparison, error) {
	t.settings.Say("measuring %s", o.name)
	records := map[*subject]*record{}
	for _, s := range t.both(0) {
		records[s] = &record{samples: make([]report.Samples, len(o.measures))}
		if o.setUp == nil {
			continue
		}
		end, err := o.setUp(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("set up %s: %w", o.name, err)
		}
		defer end()
	}
	for round := range t.sizes.warmUp + t.sizes.rounds {
		for _, s := range t.both(round) {
			if err := t.round(ctx, o, s, records[s], round); err != nil {
				return nil, fmt.Errorf("%s: %w", o.name, err)
			}
		}
	}
	if err := t.profile(ctx, o); err != nil {
		return nil, fmt.Errorf("profile %s: %w", o.name, err)
	}
	return compared(o, records[t.ours], records[t.reference]), nil
}

// round does an operation as often as a round has it, and records it unless it is warm-up.
func (t *trial) round(ctx context.Context, o operation, s *subject, into *record, round int) error {
	count := o.full
	if t.sizes.quick {
		count = o.quick
	}
	var times [][]time.Duration
	before := s.wire.Totals()
	costs, err := t.meter.Measure(ctx, func() error {
		var err error
		times, err = repeat(ctx, o, s, round*count, count)
		return err
	})
	if err != nil {
		return err
	}
	if o.after != nil {
		if err := o.after(ctx, s); err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
	}
	if round < t.sizes.warmUp {
		return nil
	}
	for key, value := range s.wire.Totals() {
		costs[key] += value - before[key]
	}
	for key := range costs {
		costs[key] /= float64(count)
	}
	into.costs = append(into.costs, costs)
	for measure := range o.measures {
		var samples []float64
		for _, one := range times {
			samples = append(samples, float64(one[measure])/float64(time.Millisecond))
		}
		into.samples[measure] = append(into.samples[measure], samples)
	}
	return nil
}

// repeat does an operation so often, from the n-th on, and gives the times of each.
func repeat(ctx context.Context, o operation, s *subject, first, count int) ([][]time.Duration, error) {
	times := make([][]time.Duration, count)
	return times, parallel.DoWith(ctx, max(1, o.parallel), count, newBuffer, func(ctx context.Context, answer *bytes.Buffer, n int) error {
		var err error
		times[n], err = o.do(ctx, s, answer, first+n)
		return err
	})
}

// newBuffer makes what answers are read into, again and again.
func newBuffer() *bytes.Buffer { return &bytes.Buffer{} }
