// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"kumodo.io/convoy/e2e/bench/benchmark"
	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/framework/installation"
)

// growthTarget is the exponent that times and memory may have in the number of Releases.
const growthTarget = 1.05

// looks is how often memory is looked at while nothing happens.
const looks = 20

// ours are convoy's processes, in the order in which they are started anew.
var ours = []string{installation.APIServer, installation.ControllerManager, installation.Observer}

// growth is benchmark B9: the same with more and more Releases.
type growth struct {
	*trial
	rest  time.Duration // for which nothing happens
	empty map[string]held
}

// held is what a process holds, in bytes: pages that it made itself, and what of its heap is in use.
type held struct{ own, live float64 }

// Growth is the entry for the list.
func Growth() benchmark.Benchmark {
	return benchmark.Benchmark{
		ID: "B9", Name: "growth", Works: []string{"releases"}, Run: runGrowth,
		About: "times and memory of B1 and B3 with more and more Releases, and the exponents of their growth",
	}
}

// numbersOf gives the numbers of Releases, and how long nothing happens with each.
func numbersOf(quick bool) (numbers []int, rest time.Duration) {
	if quick {
		return []int{10, 20, 40}, 2 * time.Second
	}
	return []int{250, 500, 1000, 2000}, time.Minute
}

func runGrowth(ctx context.Context, settings benchmark.Settings) (_ *report.Report, err error) {
	numbers, rest := numbersOf(settings.Quick)
	t, err := newTrial(ctx, sizes{releases: slices.Max(numbers)}, settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.stop(ctx)) }()
	t.report = &report.Report{Settings: map[string]any{"releases": numbers, "objectsOfEach": objectsOfOne, "rest": rest.String()}}
	g := &growth{trial: t, rest: rest}
	if g.empty, _, err = g.atRest(ctx, 0); err != nil {
		return nil, err
	}
	for _, n := range numbers {
		settings.Say("measuring %d Releases", n)
		if err := g.measure(ctx, n); err != nil {
			return nil, fmt.Errorf("%d Releases: %w", n, err)
		}
	}
	g.exponents()
	return t.report, nil
}

// measure brings so many Releases, has nothing happen, and removes them.
func (g *growth) measure(ctx context.Context, n int) error {
	names := g.names()[:n]
	applied, err := g.releases.until(ctx, names, isApplied, func() error { return g.releases.each(ctx, names, g.releases.create) })
	if err != nil {
		return err
	}
	g.point(n, "until all is applied", "s", applied.Seconds())
	stored, err := g.stored(ctx)
	if err != nil {
		return err
	}
	g.point(n, "Releases and inventories, as they are stored", "KiB", stored/1024)
	now, costs, err := g.atRest(ctx, n)
	if err != nil {
		return err
	}
	for _, name := range ours {
		g.point(n, name+", processor time at rest", "% of a core", costs[meter.Key{Of: name, What: "CPU", Unit: "ms"}]/10/g.rest.Seconds())
		g.point(n, name+", memory over the empty process", "MiB", (now[name].own-g.empty[name].own)/(1<<20))
		if name != installation.APIServer {
			g.point(n, name+", in use over the empty process", "MiB", (now[name].live-g.empty[name].live)/(1<<20))
		}
	}
	removed, err := g.releases.gone(ctx, names, func() error { return g.releases.each(ctx, names, g.releases.delete) })
	if err != nil {
		return err
	}
	g.point(n, "until all is removed", "s", removed.Seconds())
	objects, err := g.bare()
	if err != nil {
		return err
	}
	objects = objects[:n*objectsOfOne]
	bare, err := g.applyBare(ctx, objects)
	if err != nil {
		return err
	}
	g.point(n, "the same objects applied by the bare client", "s", bare.Seconds())
	return g.deleteBare(ctx, objects)
}

// atRest starts convoy's processes anew, lest they hold what delivering took, and gives what they hold
// and cost while nothing happens to so many Releases.
func (g *growth) atRest(ctx context.Context, n int) (map[string]held, meter.Costs, error) {
	for _, name := range ours {
		process := g.stand.Convoy.Process(name)
		if err := errors.Join(process.Stop(ctx), process.Restart(ctx)); err != nil {
			return nil, nil, err
		}
	}
	if err := g.measured(ctx); err != nil {
		return nil, nil, err
	}
	if err := g.quiet(ctx, float64(n)); err != nil {
		return nil, nil, err
	}
	for range 2 { // once everything was looked at, and once the machine has the memory of that back
		if err := sleep(ctx, g.rest/2); err != nil {
			return nil, nil, err
		}
		if _, err := g.live(ctx); err != nil {
			return nil, nil, err
		}
	}
	samples := map[string][]float64{}
	costs, err := g.meter.Measure(ctx, func() error {
		for range looks {
			if err := sleep(ctx, g.rest/looks); err != nil {
				return err
			}
			usages, err := g.meter.Memory()
			if err != nil {
				return err
			}
			for _, name := range ours {
				samples[name] = append(samples[name], float64(usages[name].Own))
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	found, err := g.live(ctx)
	for _, name := range ours {
		found[name] = held{own: report.Median(samples[name]), live: found[name].live}
	}
	return found, costs, err
}

// stored gives how many bytes the Releases and their inventories have: they are stored as they are served.
func (g *growth) stored(ctx context.Context) (bytes float64, err error) {
	client := g.releases.api.CoreV1alpha1().RESTClient()
	for _, resource := range []string{"releases", "releaseinventories"} {
		list, err := client.Get().Namespace(namespace).Resource(resource).DoRaw(ctx)
		if err != nil {
			return 0, err
		}
		bytes += float64(len(list))
	}
	return bytes, nil
}

// live collects the garbage of the controllers and gives what is in use.
func (g *growth) live(ctx context.Context) (map[string]held, error) {
	found := map[string]held{}
	for _, name := range []string{installation.ControllerManager, installation.Observer} {
		bytes, err := g.stand.LiveHeap(ctx, name)
		if err != nil {
			return found, err
		}
		found[name] = held{live: float64(bytes)}
	}
	return found, nil
}

func (g *growth) point(n int, what, unit string, value float64) {
	g.figure(fmt.Sprintf("%d Releases", n), what, unit, []float64{value})
	i := slices.IndexFunc(g.report.Series, func(s report.Series) bool { return s.What == what })
	if i < 0 {
		i = len(g.report.Series)
		g.report.Series = append(g.report.Series, report.Series{What: what, Unit: unit, Of: "Releases"})
	}
	s := &g.report.Series[i]
	s.X, s.Y = append(s.X, float64(n)), append(s.Y, value)
}

// exponents adds how what was measured grows with the number of Releases.
func (g *growth) exponents() {
	for _, s := range g.report.Series {
		if exponent, ok := report.Exponent(s.X, s.Y); ok {
			g.figure(fmt.Sprintf("exponent, the target is %g", growthTarget), s.What, "", []float64{exponent})
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
