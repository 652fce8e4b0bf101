// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"kumodo.io/convoy/e2e/bench/stand"
	"kumodo.io/convoy/e2e/framework/installation"
)

// held are the processes whose memory is told.
var held = []string{installation.Observer, installation.ControllerManager}

// memory is what a process holds, in bytes.
type memory struct {
	own  int64 // pages that it has made its own, as the kernel counts them
	live int64 // what is in use of its heap, once its garbage is collected
}

// ownMemory asks the kernel how much memory each of the processes has made its own, and then
// the processes how much of their heaps is in use. What is resident besides are pages of the
// binary, which come and go with what else the machine does.
func (t *trial) ownMemory(ctx context.Context) (map[string]memory, error) {
	found := map[string]memory{}
	for _, name := range held {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.stand.Convoy.Process(name).PID()))
		if err != nil {
			return nil, fmt.Errorf("read the memory of %s: %w", name, err)
		}
		own, err := anonymous(string(status))
		if err != nil {
			return nil, fmt.Errorf("read the memory of %s: %w", name, err)
		}
		live, err := t.stand.LiveHeap(ctx, name)
		if err != nil {
			return nil, err
		}
		found[name] = memory{own, live}
	}
	return found, nil
}

// anonymous reads the line "RssAnon:   123 kB"; the result is in bytes.
func anonymous(status string) (int64, error) {
	_, rest, _ := strings.Cut(status, "RssAnon:")
	line, _, _ := strings.Cut(rest, "\n")
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")), 10, 64)
	return kilobytes << 10, err
}

// hold adds what the processes hold more than without any Release.
func (t *trial) hold(ctx context.Context, when string) error {
	now, err := t.ownMemory(ctx)
	if err != nil {
		return err
	}
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
