// SPDX-License-Identifier: Apache-2.0

// Package meter measures what work costs besides time: processor time and memory of the
// processes that take part, what they count themselves, and the bytes that a client sends
// and receives.
package meter

import (
	"context"
	"fmt"
	"net/http"
)

// Process is a process that is measured.
type Process struct {
	Name string
	PID  int
	// MetricsURL and Client lead to its metrics; without them only the kernel is asked.
	MetricsURL string
	Client     *http.Client
	Counters   []Counter
}

// Key names a cost.
type Key struct{ Of, What, Unit string }

// Costs are sums of what work cost.
type Costs map[Key]float64

// Add adds other costs.
func (c Costs) Add(more Costs) {
	for key, value := range more {
		c[key] += value
	}
}

// Meter measures a set of processes.
type Meter struct {
	processes []Process
	// reading is what the reading of the metrics itself costs; it is taken off.
	reading Costs
}

// calibrations is how often nothing is measured, to learn what measuring costs.
const calibrations = 5

// New gives a meter of the processes, which run. It measures what measuring costs first, so
// nothing else should be asked of them meanwhile.
func New(ctx context.Context, processes ...Process) (*Meter, error) {
	m := &Meter{processes: processes}
	costs := Costs{}
	for range calibrations {
		once, err := m.Measure(ctx, func() error { return nil })
		if err != nil {
			return nil, err
		}
		costs.Add(once)
	}
	for key := range costs {
		costs[key] /= calibrations
	}
	m.reading = costs
	return m, nil
}

// Measure gives what the work cost.
func (m *Meter) Measure(ctx context.Context, work func() error) (Costs, error) {
	// The counters are read farther from the work than the processor time, of which reading
	// them takes a good deal.
	counted, err := m.counters(ctx)
	if err != nil {
		return nil, err
	}
	used, err := m.cpu()
	if err != nil {
		return nil, err
	}
	if err := work(); err != nil {
		return nil, err
	}
	costs, err := m.cpu()
	if err != nil {
		return nil, err
	}
	after, err := m.counters(ctx)
	if err != nil {
		return nil, err
	}
	costs.Add(after)
	for _, before := range []Costs{counted, used, m.reading} {
		for key, value := range before {
			costs[key] -= value
		}
	}
	return costs, nil
}

func (m *Meter) cpu() (Costs, error) {
	costs := Costs{}
	for _, p := range m.processes {
		usage, err := ReadUsage(p.PID)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		costs[Key{Of: p.Name, What: "CPU", Unit: "ms"}] = float64(usage.CPU.Milliseconds())
	}
	return costs, nil
}

func (m *Meter) counters(ctx context.Context) (Costs, error) {
	costs := Costs{}
	for _, p := range m.processes {
		if len(p.Counters) == 0 {
			continue
		}
		values, err := Scrape(ctx, p.Client, p.MetricsURL, p.Counters)
		if err != nil {
			return nil, fmt.Errorf("read the metrics of %s: %w", p.Name, err)
		}
		for i, counter := range p.Counters {
			costs[Key{Of: p.Name, What: counter.What, Unit: counter.Unit}] = values[i]
		}
	}
	return costs, nil
}

// Memory gives what each process holds, by its name.
func (m *Meter) Memory() (map[string]Usage, error) {
	usages := map[string]Usage{}
	for _, p := range m.processes {
		usage, err := ReadUsage(p.PID)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		usages[p.Name] = usage
	}
	return usages, nil
}
