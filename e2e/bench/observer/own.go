// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"time"

	"kumodo.io/convoy/e2e/bench/meter"
	"kumodo.io/convoy/e2e/bench/report"
	"kumodo.io/convoy/e2e/bench/stand"
	"kumodo.io/convoy/e2e/framework/installation"
)

// held are the processes whose memory is told.
var held = []string{installation.Observer, installation.ControllerManager}

// memory is what a process holds, in bytes.
type memory struct {
	own  int64 // pages that it has made its own, as the kernel counts them: RssAnon
	live int64 // what is in use of its heap, once its garbage is collected
}

// memoryNow asks the kernel how much memory each of the processes has made its own, and then
// the processes how much of their heaps is in use. What is resident besides are pages of the
// binary, which come and go with what else the machine does.
func (t *trial) memoryNow(ctx context.Context) (map[string]memory, error) {
	samples := map[string][]float64{}
	if err := t.sample(samples); err != nil {
		return nil, err
	}
	return t.inUse(ctx, samples)
}

// samplesAtRest is how often memory is looked at while nothing happens: the heap of a process
// grows until its garbage is collected, every two minutes at rest.
const samplesAtRest = 60

// memoryAtRest has nothing happen for as long as that is to be measured, and gives what the
// processes hold meanwhile: the median of what the kernel counts.
func (t *trial) memoryAtRest(ctx context.Context) (map[string]memory, error) {
	samples := map[string][]float64{}
	ticker := time.NewTicker(t.sizes.idle / samplesAtRest)
	defer ticker.Stop()
	for range samplesAtRest {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if err := t.sample(samples); err != nil {
			return nil, err
		}
	}
	return t.inUse(ctx, samples)
}

// sample adds what the kernel counts of each process.
func (t *trial) sample(samples map[string][]float64) error {
	for _, name := range held {
		usage, err := meter.ReadUsage(t.stand.Convoy.Process(name).PID())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		samples[name] = append(samples[name], float64(usage.Own))
	}
	return nil
}

// inUse adds to the median of samples what is in use.
func (t *trial) inUse(ctx context.Context, samples map[string][]float64) (map[string]memory, error) {
	found := map[string]memory{}
	for _, name := range held {
		live, err := t.stand.LiveHeap(ctx, name)
		if err != nil {
			return nil, err
		}
		found[name] = memory{int64(report.Describe(samples[name]).P50), live}
	}
	return found, nil
}

// hold adds what the processes hold more than at rest without any Release.
func (t *trial) hold(ctx context.Context, when string, now map[string]memory) error {
	for _, name := range held {
		own, live := float64(now[name].own-t.empty[name].own), float64(now[name].live-t.empty[name].live)
		t.figure(when, name+", memory", "MiB", float64(now[name].own)/(1<<20))
		t.figure(when, name+", over the empty process", "MiB", own/(1<<20))
		t.figure(when, name+", for each object", "KiB", own/1024/float64(t.sizes.objects()))
		t.figure(when, name+", in use over the empty process", "MiB", live/(1<<20))
		t.figure(when, name+", in use for each object", "KiB", live/1024/float64(t.sizes.objects()))
	}
	if t.settings.Profile == "" {
		return nil
	}
	servers, err := t.stand.Profiled()
	if err != nil {
		return err
	}
	return stand.Heap(ctx, t.settings.Profile, when, servers)
}
