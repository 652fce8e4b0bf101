// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// change is what subscribers are told of.
type change struct{ gained, lost []int }

// record makes what a pass changed visible to Owns, and queues it for the subscribers.
func (m *Manager) record(ctx context.Context, gained, lost []int) {
	slices.Sort(lost)
	held := map[int]time.Time{}
	for shard, t := range m.tenures {
		if !t.leaving {
			held[shard] = t.renewed.Add(m.deadline())
		}
	}
	m.gauge.Set(float64(len(held)))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = held
	if len(gained)+len(lost) == 0 {
		return
	}
	m.changes = append(m.changes, change{gained: gained, lost: lost})
	klog.FromContext(ctx).Info("Ownership of shards changes", "gained", gained, "lost", lost, "owned", len(held))
}

// tell starts telling the subscribers of the queued changes, unless that is under way: a
// subscriber takes its time, while the Leases must be renewed.
func (m *Manager) tell(wg *sync.WaitGroup) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.changes) == 0 || m.telling {
		return
	}
	m.telling = true
	wg.Go(func() {
		for {
			m.mu.Lock()
			if len(m.changes) == 0 {
				m.telling = false
				m.mu.Unlock()
				return
			}
			next, subscribers := m.changes[0], slices.Clone(m.subscribers)
			m.changes = m.changes[1:]
			m.mu.Unlock()

			for _, f := range subscribers {
				f(slices.Clone(next.gained), slices.Clone(next.lost))
			}
			m.mu.Lock()
			m.drained = append(m.drained, next.lost...)
			m.mu.Unlock()
			m.poke()
		}
	})
}
