// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// memoryInterval is how often it is looked whether memory is to be given back.
	memoryInterval = time.Minute
	// leastGrown, and its part of what there was, is by how much the heap has grown when that is
	// worth a collection.
	leastGrown, partGrown = 8 << 20, 8
)

// usage is what the runtime tells of its memory.
type usage struct {
	// collections so far that were not asked for.
	collections uint64
	// heap is the memory that it has of the system for objects, whether there are any in it.
	heap uint64
}

// memory gives what much work at once has left behind back to the system. The runtime keeps
// more than twice what was in use then, long after a thousand Releases were delivered.
type memory struct {
	read func() usage
	free func()
	// last is what there was at the last look, least after memory was given back last.
	last, least usage
}

// GiveMemoryBack gives free memory back to the system whenever the process has little to do
// after it had much, until ctx ends. It costs a collection, such as is due every two minutes
// anyway.
func GiveMemoryBack(ctx context.Context) error {
	m := memory{read: readUsage, free: debug.FreeOSMemory}
	return m.run(ctx)
}

func (m *memory) run(ctx context.Context) error {
	ticker := time.NewTicker(memoryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			if m.due(m.read()) {
				m.free()
				m.least = m.read()
			}
		}
	}
}

// due tells whether memory is to be given back: there was no need to collect garbage more than
// once since the last look, and it is worth it.
func (m *memory) due(now usage) bool {
	collections := now.collections - m.last.collections
	m.last = now
	return collections <= 1 && now.heap >= m.least.heap+max(leastGrown, m.least.heap/partGrown)
}

func readUsage() usage {
	samples := []metrics.Sample{
		{Name: "/gc/cycles/automatic:gc-cycles"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	return usage{collections: samples[0].Value.Uint64(), heap: samples[1].Value.Uint64() + samples[2].Value.Uint64() + samples[3].Value.Uint64()}
}
