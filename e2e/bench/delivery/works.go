// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/bench/stand"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/poll"
)

// names of the many Releases.
func (t *trial) names() []string {
	names := make([]string, t.sizes.releases)
	for n := range names {
		names[n] = releaseName(n)
	}
	return names
}

// fleet is B1: the many Releases at once, none of which was there before.
func (t *trial) fleet(ctx context.Context) error {
	objects, err := t.bare()
	if err != nil {
		return err
	}
	c, err := t.compare(ctx, fmt.Sprintf("apply %d Releases of %d objects", t.sizes.releases, objectsOfOne), objects, t.names())
	if err != nil {
		return err
	}
	c.Target = 1.3
	t.report.Comparisons = append(t.report.Comparisons, c)
	return t.deliver(ctx)
}

// largeName is the Release of many objects.
const largeName = "large"

// largeFiles are its manifests, 100 to a file.
func largeFiles(objects int) [][]string {
	files := make([][]string, (objects+99)/100)
	for n := range objects {
		files[n/100] = append(files[n/100], configMap(fmt.Sprintf("%s-%05d", largeName, n), "0"))
	}
	return files
}

// large is one Release of many objects.
func (t *trial) large(ctx context.Context) error {
	var objects []*unstructured.Unstructured
	for _, list := range largeFiles(t.sizes.large) {
		more, err := decoded(bareNamespace, list)
		if err != nil {
			return err
		}
		objects = append(objects, more...)
	}
	c, err := t.compare(ctx, fmt.Sprintf("apply one Release of %d objects", t.sizes.large), objects, []string{largeName})
	if err == nil {
		t.report.Comparisons = append(t.report.Comparisons, c)
	}
	return err
}

// compare applies objects by the bare client, and the Releases that have the same by convoy,
// in turns, and removes both. A warm-up comes first.
func (t *trial) compare(ctx context.Context, work string, objects []*unstructured.Unstructured, names []string) (report.Comparison, error) {
	var ours, bare report.Samples
	var removal []float64
	costs := [2]meter.Costs{{}, {}}
	seen, ended := counts{}, counts{}
	for round := range t.sizes.rounds + 1 {
		var took [2]time.Duration
		for _, side := range [2]int{round % 2, 1 - round%2} {
			once, err := t.meter.Measure(ctx, func() (err error) {
				if side == 0 {
					seen, err = t.counting(ctx, func() error {
						took[side], err = t.releases.until(ctx, names, isApplied, func() error { return t.releases.each(ctx, names, t.releases.create) })
						return err
					})
					return err
				}
				took[side], err = t.applyBare(ctx, objects)
				return err
			})
			if err != nil {
				return report.Comparison{}, err
			}
			if round > 0 {
				costs[side].Add(once)
			}
		}
		var gone time.Duration
		removed, err := t.counting(ctx, func() (err error) {
			gone, err = t.releases.gone(ctx, names, func() error { return t.releases.each(ctx, names, t.releases.delete) })
			return err
		})
		if err != nil {
			return report.Comparison{}, err
		}
		ended = removed
		if err := t.deleteBare(ctx, objects); err != nil {
			return report.Comparison{}, err
		}
		t.settings.Say("  round %d: convoy %.2f s, bare %.2f s; removed in %.2f s", round, took[0].Seconds(), took[1].Seconds(), gone.Seconds())
		if round == 0 {
			continue
		}
		ours, bare = append(ours, []float64{took[0].Seconds()}), append(bare, []float64{took[1].Seconds()})
		removal = append(removal, gone.Seconds())
	}
	c := report.Compare(work, "until all is applied", "s", ours, bare)
	for key := range costs[0] {
		c.Costs = append(c.Costs, report.Cost{Of: key.Of, What: key.What, Unit: key.Unit,
			Ours: costs[0][key] / float64(t.sizes.rounds), Reference: costs[1][key] / float64(t.sizes.rounds)})
	}
	t.figure(work, "until all is removed", "s", removal)
	if err := t.profile(ctx, names); err != nil {
		return report.Comparison{}, fmt.Errorf("profile %s: %w", work, err)
	}
	t.tell(work, seen)
	t.tell(work+", and removed", ended)
	return c, nil
}

// profileTime is how long servers are profiled.
const profileTime = 10 * time.Second

// profile writes profiles of the servers while Releases are brought and removed again and
// again, if that is asked for.
func (t *trial) profile(ctx context.Context, names []string) error {
	if t.settings.Profile == "" {
		return nil
	}
	servers, err := t.stand.Profiled()
	if err != nil {
		return err
	}
	return stand.Profile(ctx, t.settings.Profile, names[0], profileTime, servers, func(ctx context.Context) error {
		_, err := t.releases.until(ctx, names, isApplied, func() error { return t.releases.each(ctx, names, t.releases.create) })
		if err != nil {
			return err
		}
		_, err = t.releases.gone(ctx, names, func() error { return t.releases.each(ctx, names, t.releases.delete) })
		return err
	})
}

// tell adds what was counted in the last round of a work.
func (t *trial) tell(work string, seen counts) {
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		if what != waiting {
			t.figure(work, what, "", []float64{seen[what]})
		}
	}
}

// deliver has the many Releases applied, if they are not.
func (t *trial) deliver(ctx context.Context) error {
	if t.delivered {
		return nil
	}
	t.delivered = true
	_, err := t.releases.until(ctx, t.names(), isApplied, func() error { return t.releases.each(ctx, t.names(), t.releases.create) })
	if err != nil {
		return err
	}
	return t.quiet(ctx, 0)
}

// quiet waits until nothing is in the queue of Releases, once so many passes were made.
func (t *trial) quiet(ctx context.Context, made float64) error {
	return poll.Until(ctx, 20*time.Millisecond, func(ctx context.Context) error {
		seen, err := count(ctx, t.manager)
		if err != nil {
			return err
		}
		if seen[reconciles] < made || seen[waiting] > 0 {
			return fmt.Errorf("%.0f of %.0f passes are made, %.0f keys wait", seen[reconciles], made, seen[waiting])
		}
		return nil
	})
}

// resync is B2: every Release is looked at again, and nothing has changed.
func (t *trial) resync(ctx context.Context) error {
	if err := t.deliver(ctx); err != nil {
		return err
	}
	var took []float64
	var seen counts
	for range t.sizes.rounds {
		before, err := count(ctx, t.manager)
		if err != nil {
			return err
		}
		started := time.Now()
		seen, err = t.counting(ctx, func() error {
			if err := t.releases.touch(ctx); err != nil {
				return err
			}
			return t.quiet(ctx, before[reconciles]+float64(t.sizes.releases))
		})
		if err != nil {
			return err
		}
		took = append(took, time.Since(started).Seconds())
	}
	t.figure("resync", "until every Release was looked at", "s", took)
	t.tell("resync", seen)
	return nil
}

// restart is a resync by a controller-manager that has just started and remembers nothing.
func (t *trial) restart(ctx context.Context) error {
	if err := t.deliver(ctx); err != nil {
		return err
	}
	process := t.stand.Convoy.Process(installation.ControllerManager)
	var took []float64
	var seen counts
	for range t.sizes.rounds {
		if err := process.Stop(ctx); err != nil {
			return err
		}
		// A new process counts from zero, and so the target alone is counted before.
		before, err := count(ctx, t.toTarget)
		if err != nil {
			return err
		}
		started := time.Now()
		if err := process.Restart(ctx); err != nil {
			return err
		}
		if err := t.quiet(ctx, float64(t.sizes.releases)); err != nil {
			return err
		}
		took = append(took, time.Since(started).Seconds())
		after, err := count(ctx, t.toTarget)
		if err != nil {
			return err
		}
		if seen, err = count(ctx, t.manager); err != nil {
			return err
		}
		for what := range after {
			seen[what] = after[what] - before[what]
		}
	}
	t.figure("restart", "until every Release was looked at, the start of the process in it", "s", took)
	t.tell("restart", seen)
	return t.measured(ctx)
}

// sync is a person's request to sync every Release: each object is looked at in the target.
func (t *trial) sync(ctx context.Context) error {
	if err := t.deliver(ctx); err != nil {
		return err
	}
	var took []float64
	var seen counts
	for range t.sizes.rounds {
		var err error
		seen, err = t.counting(ctx, func() error {
			d, err := t.releases.until(ctx, t.names(), isApplied, func() error { return t.releases.each(ctx, t.names(), t.releases.sync) })
			took = append(took, d.Seconds())
			return err
		})
		if err != nil {
			return err
		}
		if err := t.quiet(ctx, 0); err != nil {
			return err
		}
	}
	t.figure("sync", "until every Release is synced", "s", took)
	t.tell("sync", seen)
	return nil
}

// change is B4: a commit that changes one object of one Release.
func (t *trial) change(ctx context.Context) error {
	if err := t.deliver(ctx); err != nil {
		return err
	}
	var ours, bare, took []float64
	var seen, spread counts
	for round := range t.sizes.rounds {
		name, value := releaseName(round), fmt.Sprint(round+1)
		list := manifests(name, value)
		commit, err := t.repo.Commit(ctx, gitserver.Commit{Write: map[string]string{name + "/all.yaml": file(list)}})
		if err != nil {
			return err
		}
		seen, err = t.counting(ctx, func() error {
			d, err := t.releases.until(ctx, []string{name}, has(commit), func() error { return t.releases.sync(ctx, name) })
			ours = append(ours, float64(d.Milliseconds()))
			return err
		})
		if err != nil {
			return err
		}
		objects, err := decoded(bareNamespace, list[5:6])
		if err != nil {
			return err
		}
		d, err := t.applyBare(ctx, objects)
		if err != nil {
			return err
		}
		bare = append(bare, float64(d.Milliseconds()))
		// The others come to see the commit, too.
		spread, err = t.counting(ctx, func() error {
			d, err := t.releases.until(ctx, without(t.names(), name), sees(commit), func() error { return t.releases.touch(ctx) })
			took = append(took, d.Seconds())
			return err
		})
		if err != nil {
			return err
		}
		if err := t.quiet(ctx, 0); err != nil {
			return err
		}
	}
	t.figure("change", "request to sync until the commit is applied", "ms", ours)
	t.figure("change", "the changed object applied by the bare client", "ms", bare)
	t.tell("change", seen)
	t.figure("change, the other Releases", "until all have seen the commit", "s", took)
	t.tell("change, the other Releases", spread)
	return nil
}

func without(names []string, one string) []string {
	var rest []string
	for _, name := range names {
		if name != one {
			rest = append(rest, name)
		}
	}
	return rest
}
