// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	corev1 "k8s.io/api/core/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/bench/parallel"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/poll"
)

// memory is what the processes hold of the Releases and their objects.
func (t *trial) memory(ctx context.Context) error {
	if err := t.deliver(ctx); err != nil {
		return err
	}
	seen, err := count(ctx, t.observer())
	if err != nil {
		return err
	}
	t.figure("memory, all delivered", "renders by convoy-observer", "", seen[renders])
	now, err := t.memoryNow(ctx)
	if err != nil {
		return err
	}
	return t.hold(ctx, "memory, all delivered", now)
}

// idle is B3: nothing happens to the Releases.
func (t *trial) idle(ctx context.Context) error {
	if err := t.deliver(ctx); err != nil {
		return err
	}
	if err := t.newMeter(ctx); err != nil { // other works start processes anew
		return err
	}
	var seen counts
	var now map[string]memory
	costs, err := t.meter.Measure(ctx, func() (err error) {
		seen, err = t.counting(ctx, func() (err error) {
			now, err = t.memoryAtRest(ctx)
			return err
		})
		return err
	})
	if err != nil {
		return err
	}
	t.tell("idle", seen)
	objectHours := float64(t.sizes.objects()) * t.sizes.idle.Hours()
	t.figure("idle", "requests about objects at the target, for each object and hour", "", (seen[reads]+seen[lists]+seen[applies])/objectHours)
	for key, value := range costs {
		t.figure("idle", key.Of+", processor time", "% of a core", value/10/t.sizes.idle.Seconds())
	}
	return t.hold(ctx, "idle", now)
}

// drift is B5: a field of one object after the other is edited, and corrected.
func (t *trial) drift(ctx context.Context) error {
	if err := t.deliver(ctx); err != nil {
		return err
	}
	var took []float64
	seen, err := t.counting(ctx, func() error {
		for n := range t.sizes.edits {
			d, err := t.edit(ctx, releaseName(n*7%t.sizes.releases))
			if err != nil {
				return err
			}
			took = append(took, float64(d.Microseconds())/1000)
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.times("drift", "edit until corrected", took)
	t.tell("drift, all edits", seen)
	return t.quiet(ctx)
}

// edit changes a field and gives the time until it is as applied.
func (t *trial) edit(ctx context.Context, name string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	objects := t.target.CoreV1().ConfigMaps(namespace)
	watcher, err := objects.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return 0, err
	}
	defer watcher.Stop()
	started := time.Now()
	if _, err := objects.Patch(ctx, name, types.MergePatchType, []byte(`{"data":{"value":"by hand"}}`), metav1.PatchOptions{FieldManager: "hand"}); err != nil {
		return 0, err
	}
	edited := false
	for event := range watcher.ResultChan() {
		object, ok := event.Object.(*corev1.ConfigMap)
		if !ok || event.Type == watch.Deleted {
			return 0, fmt.Errorf("the watch told %T, %s", event.Object, event.Type)
		}
		if edited = edited || object.Data["value"] != asApplied; edited && object.Data["value"] == asApplied {
			return time.Since(started), nil
		}
	}
	return 0, errors.Join(fmt.Errorf("ConfigMap %s was not corrected", name), ctx.Err())
}

// restart is a convoy-observer that has just started and remembers nothing.
func (t *trial) restart(ctx context.Context) error {
	if err := t.deliver(ctx); err != nil {
		return err
	}
	process := t.stand.Convoy.Process(installation.Observer)
	for round := range t.sizes.rounds {
		if err := process.Stop(ctx); err != nil {
			return err
		}
		var took time.Duration
		seen, err := t.counting(ctx, func() error {
			started := time.Now()
			if err := process.Restart(ctx); err != nil {
				return err
			}
			last, err := t.assessed(ctx)
			took = last.Sub(started)
			return err
		})
		if err != nil {
			return err
		}
		work := fmt.Sprintf("restart-observer %d", round+1)
		t.figure(work, "until all is assessed, the start of the process in it", "s", took.Seconds())
		t.tell(work, seen)
		own, err := count(ctx, t.observer())
		if err != nil {
			return err
		}
		t.figure(work, renders, "", own[renders])
	}
	if err := t.newMeter(ctx); err != nil {
		return err
	}
	now, err := t.memoryNow(ctx)
	if err != nil {
		return err
	}
	if err := t.hold(ctx, "restart-observer", now); err != nil {
		return err
	}
	if now, err = t.memoryAtRest(ctx); err != nil {
		return err
	}
	return t.hold(ctx, "restart-observer, a while later", now)
}

// pause is how long nothing is done by a process that has nothing more to do; longer than it
// waits for its watches.
const pause = 3 * time.Second

// assessed waits until both loops have seen every Release and do nothing more, and gives the
// time of the last thing that was done.
func (t *trial) assessed(ctx context.Context) (last time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	before := 0.0
	err = poll.Until(ctx, 20*time.Millisecond, func(ctx context.Context) error {
		seen, err := count(ctx, t.observer())
		if err != nil {
			return err
		}
		if made := seen[healthPasses] + seen[driftPasses]; made != before || last.IsZero() {
			before, last = made, time.Now()
		}
		least := float64(t.sizes.releases)
		if seen[healthPasses] < least || seen[driftPasses] < least || seen[waiting] > 0 || time.Since(last) < pause {
			return fmt.Errorf("%.0f passes of health, %.0f of drift, %.0f keys wait", seen[healthPasses], seen[driftPasses], seen[waiting])
		}
		return nil
	})
	return last, err
}

// burst is much that happens to the pods of one Release at once.
func (t *trial) burst(ctx context.Context) error {
	if err := t.create(ctx, burstName); err != nil {
		return err
	}
	if err := t.until(ctx, func(r *corev1alpha1.Release) bool { return r.Name != burstName || r.Status.Applied != nil }); err != nil {
		return err
	}
	if err := t.quiet(ctx); err != nil {
		return err
	}
	var took time.Duration
	seen, err := t.counting(ctx, func() error {
		started := time.Now()
		for event := range t.sizes.events {
			ready := event == t.sizes.events-1 // in the end all are
			if err := parallel.Do(ctx, clients, t.sizes.pods, func(ctx context.Context, n int) error { return t.happen(ctx, podName(n), ready, event) }); err != nil {
				return err
			}
		}
		took = time.Since(started)
		return t.until(ctx, func(r *corev1alpha1.Release) bool {
			return r.Name != burstName || r.Status.Conditions != nil && isHealthy(r)
		})
	})
	if err != nil {
		return err
	}
	t.figure("burst", "events", "", float64(t.sizes.events*t.sizes.pods))
	t.figure("burst", "all events within", "s", took.Seconds())
	t.tell("burst", seen)
	return nil
}

func isHealthy(r *corev1alpha1.Release) bool {
	for _, c := range r.Status.Conditions {
		if c.Type == corev1alpha1.ConditionHealthy {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}

// happen is what a kubelet writes of a pod.
func (t *trial) happen(ctx context.Context, name string, ready bool, event int) error {
	status := "False"
	if ready || event%2 == 1 {
		status = "True"
	}
	patch := fmt.Sprintf(`{"status":{"phase":"Running","startTime":"2026-01-01T00:00:%02dZ","conditions":[{"type":"Ready","status":%q},{"type":"ContainersReady","status":%q}]}}`, event%60, status, status)
	_, err := t.target.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}
