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

// publish makes the state of the tenures visible to Owns and to the fence. It is called
// with the lock held.
func (m *Manager) publish() {
	m.held, m.ending = map[int]time.Time{}, time.Time{}
	for shard, t := range m.tenures {
		if !t.leaving {
			m.held[shard] = t.until
		}
		if !t.drained && (m.ending.IsZero() || t.until.Before(m.ending)) {
			m.ending = t.until
		}
	}
	m.gauge.Set(float64(len(m.held)))
}

// record makes what a pass changed visible, and queues it for the subscribers.
func (m *Manager) record(ctx context.Context, gained, lost []int) {
	slices.Sort(lost)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.publish()
	if len(gained)+len(lost) == 0 {
		return
	}
	m.changes = append(m.changes, change{gained: gained, lost: lost})
	klog.FromContext(ctx).Info("Ownership of shards changes", "gained", gained, "lost", lost, "owned", len(m.held))
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
