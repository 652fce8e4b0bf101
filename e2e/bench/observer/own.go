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

// ownMemory asks the kernel how much memory each of the processes has made its own. What is
// resident besides are pages of the binary, which come and go with what else the machine does.
func (t *trial) ownMemory() (map[string]int64, error) {
	memory := map[string]int64{}
	for _, name := range held {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.stand.Convoy.Process(name).PID()))
		if err != nil {
			return nil, fmt.Errorf("read the memory of %s: %w", name, err)
		}
		if memory[name], err = anonymous(string(status)); err != nil {
			return nil, fmt.Errorf("read the memory of %s: %w", name, err)
		}
	}
	return memory, nil
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
	now, err := t.ownMemory()
	if err != nil {
		return err
	}
	for _, name := range held {
		more := float64(now[name] - t.empty[name])
		t.figure(when, name+", memory", "MiB", float64(now[name])/(1<<20))
		t.figure(when, name+", over the empty process", "MiB", more/(1<<20))
		t.figure(when, name+", for each object", "KiB", more/1024/float64(t.sizes.objects()))
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
