// SPDX-License-Identifier: Apache-2.0

package shards

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/poll"
)

// prepare has so many replicas share all Releases.
func (t *trial) prepare(ctx context.Context, count int) error {
	if err := t.grow(ctx, count); err != nil {
		return err
	}
	if err := t.deliver(ctx); err != nil {
		return err
	}
	return t.quiet(ctx)
}

// share is what each replica holds, over a process without any Release, with so many and so
// many replicas.
func (t *trial) share(ctx context.Context) error {
	if t.made {
		return errors.New("the memory of a replica without Releases was not read before there were any")
	}
	if err := t.grow(ctx, counts[0]); err != nil {
		return err
	}
	if err := t.quiet(ctx); err != nil {
		return err
	}
	var err error
	if t.empty, err = t.memories(ctx); err != nil {
		return err
	}
	one := map[string]memory{}
	for _, count := range counts {
		if err := t.prepare(ctx, count); err != nil {
			return err
		}
		held, err := t.memories(ctx)
		if err != nil {
			return err
		}
		for _, controller := range controllers {
			over := memory{held[controller].own - t.empty[controller].own, held[controller].live - t.empty[controller].live}
			if count == counts[0] {
				one[controller] = over
			}
			of := fmt.Sprintf("%s, %d replicas", controller, count)
			t.figure(of, "memory of a replica", "MiB", held[controller].own/(1<<20))
			t.figure(of, "over the empty process", "MiB", over.own/(1<<20))
			t.figure(of, "over the empty process, of that of one replica", "", over.own/one[controller].own)
			t.figure(of, "in use over the empty process", "MiB", over.live/(1<<20))
			t.figure(of, "in use over the empty process, of that of one replica", "", over.live/one[controller].live)
		}
	}
	return nil
}

// memories are the means of what replicas of each controller hold at rest.
func (t *trial) memories(ctx context.Context) (map[string]memory, error) {
	select {
	case <-time.After(t.sizes.rest):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	means := map[string]memory{}
	for _, controller := range controllers {
		var own, live []float64
		for _, one := range t.replicas[controller] {
			held, err := one.memory(ctx)
			if err != nil {
				return nil, err
			}
			own, live = append(own, held.own), append(live, held.live)
		}
		means[controller] = memory{report.Describe(own).Mean, report.Describe(live).Mean}
	}
	return means, nil
}

func (t *trial) killed(ctx context.Context) error {
	return t.takeOver(ctx, "killed", func(one *replica) error { return one.Kill() }, t.restart)
}

func (t *trial) paused(ctx context.Context) error {
	return t.takeOver(ctx, "paused",
		func(one *replica) error { return syscall.Kill(one.PID(), syscall.SIGSTOP) },
		func(_ context.Context, one *replica) error { return syscall.Kill(one.PID(), syscall.SIGCONT) })
}

// end ends a replica, in whatever state it is.
func (r *replica) end(ctx context.Context) error {
	_ = syscall.Kill(r.PID(), syscall.SIGCONT)
	return errors.Join(r.Err(), r.Stop(ctx))
}

// takeOver has something happen to one replica of each controller at once, the next one in each
// round, and sees how long it takes until others hold its shards, and until they have done what
// there was to do: a commit for a Release of each of them, and an object of another that
// somebody edited.
func (t *trial) takeOver(ctx context.Context, name string, stop func(*replica) error, back func(context.Context, *replica) error) error {
	count := counts[len(counts)-1]
	if err := t.prepare(ctx, count); err != nil {
		return err
	}
	var applied, corrected, shared []float64
	held := map[string][]float64{}
	for round := range t.sizes.rounds {
		lost := map[string]*replica{}
		gone := map[string][]int{}
		for _, controller := range controllers {
			lost[controller] = t.replicas[controller][round%count]
			holders, err := t.holders(ctx, controller)
			if err != nil {
				return err
			}
			gone[controller] = indexes(holders, lost[controller].identity)
		}
		began := time.Now()
		for _, controller := range controllers {
			if err := stop(lost[controller]); err != nil {
				return err
			}
		}
		toApply, toCorrect, err := t.disturb(ctx, gone)
		if err != nil {
			return err
		}
		seconds, err := t.followed(ctx, began, map[string]func(context.Context) error{
			installation.ControllerManager: t.taken(installation.ControllerManager, lost, gone),
			installation.Observer:          t.taken(installation.Observer, lost, gone),
			"applied":                      t.have(toApply),
			"corrected":                    t.have(toCorrect),
		})
		if err != nil {
			return err
		}
		for _, controller := range controllers {
			held[controller] = append(held[controller], seconds[controller])
		}
		applied, corrected = append(applied, seconds["applied"]), append(corrected, seconds["corrected"])
		returned := time.Now()
		for _, controller := range controllers {
			if err := back(ctx, lost[controller]); err != nil {
				return err
			}
		}
		if err := t.shared(ctx); err != nil {
			return err
		}
		shared = append(shared, time.Since(returned).Seconds())
		if err := t.quiet(ctx); err != nil {
			return err
		}
	}
	for _, controller := range controllers {
		t.times(name, "until others hold all shards of a "+controller, held[controller])
	}
	t.times(name, "until a commit is applied in all of them", applied)
	t.times(name, "until drift is corrected in all of them", corrected)
	t.times(name, "until all share again, once it is back", shared)
	return nil
}

// disturb makes a commit for one Release of each shard of the controller-manager that is gone, and
// edits an object of one of each of the observer's. It gives the values that objects shall have.
func (t *trial) disturb(ctx context.Context, gone map[string][]int) (toApply, toCorrect map[string]string, err error) {
	t.commits++
	value := fmt.Sprint(t.commits)
	files := map[string]string{}
	toApply, toCorrect = map[string]string{}, map[string]string{}
	for _, shard := range gone[installation.ControllerManager] {
		files[releaseName(shard)+"/all.yaml"] = file(releaseName(shard), value)
		toApply[releaseName(shard)+"-0"] = value
	}
	if _, err := t.repo.Commit(ctx, gitserver.Commit{Write: files}); err != nil {
		return nil, nil, err
	}
	for _, shard := range gone[installation.ControllerManager] {
		if _, err := t.api.CoreV1alpha1().Releases(namespace).Sync(ctx, releaseName(shard), corev1alpha1.ReleaseSyncOptions{}); err != nil {
			return nil, nil, err
		}
	}
	for _, shard := range gone[installation.Observer] {
		object := releaseName(shard+shards) + "-0"
		patch := []byte(`{"data":{"value":"by hand"}}`)
		if _, err := t.target.CoreV1().ConfigMaps(namespace).Patch(ctx, object, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "hand"}); err != nil {
			return nil, nil, err
		}
		toCorrect[object] = "0"
	}
	return toApply, toCorrect, nil
}

// taken asks whether others hold the shards of a replica that is gone.
func (t *trial) taken(controller string, lost map[string]*replica, gone map[string][]int) func(context.Context) error {
	return func(ctx context.Context) error {
		holders, err := t.holders(ctx, controller)
		if err != nil {
			return err
		}
		for _, shard := range gone[controller] {
			if slices.Contains([]string{"", lost[controller].identity}, holders[shard]) {
				return fmt.Errorf("nobody else holds shard %d", shard)
			}
		}
		return nil
	}
}

// have asks whether objects have values.
func (t *trial) have(values map[string]string) func(context.Context) error {
	return func(ctx context.Context) error {
		var not []string
		for name, value := range values {
			object, err := t.target.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if object.Data["value"] != value {
				not = append(not, name)
			}
		}
		if len(not) > 0 {
			return fmt.Errorf("%s have not what they should", strings.Join(not, ", "))
		}
		return nil
	}
}

// followed waits until each of some things is so, and gives how many seconds after a moment each
// was seen to be.
func (t *trial) followed(ctx context.Context, began time.Time, checks map[string]func(context.Context) error) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	seconds := map[string]float64{}
	err := poll.Until(ctx, 50*time.Millisecond, func(ctx context.Context) error {
		var errs []error
		for name, check := range checks {
			if _, is := seconds[name]; is {
				continue
			}
			if err := check(ctx); err != nil {
				errs = append(errs, err)
				continue
			}
			seconds[name] = time.Since(began).Seconds()
		}
		return errors.Join(errs...)
	})
	return seconds, err
}
