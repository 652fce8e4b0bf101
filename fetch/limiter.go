// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"slices"
	"sync"
)

// limiter bounds the operations under way in all, and those of a host to half of what other hosts
// leave: hosts that hang do not hold up the others. Those who wait have their turns in the order
// in which they came, as far as their hosts allow.
type limiter struct {
	total int

	mu    sync.Mutex
	busy  int
	hosts map[string]int // operations under way, none of which is absent
	queue []*waiter
}

type waiter struct {
	host string
	turn chan struct{} // closed once the operation may begin
}

func newLimiter(total int) *limiter { return &limiter{total: total, hosts: map[string]int{}} }

// acquire waits for a slot and returns how to give it back. The error is the context's.
func (l *limiter) acquire(ctx context.Context, host string) (release func(), err error) {
	w := &waiter{host: host, turn: make(chan struct{})}
	l.mu.Lock()
	l.queue = append(l.queue, w)
	l.grant()
	l.mu.Unlock()
	release = func() { l.release(host) }
	select {
	case <-w.turn:
		return release, nil
	case <-ctx.Done():
		l.abandon(w)
		return nil, ctx.Err()
	}
}

func (l *limiter) release(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	if l.hosts[host]--; l.hosts[host] == 0 {
		delete(l.hosts, host)
	}
	l.grant()
}

// abandon takes a waiter out of the queue, or gives back what it got meanwhile.
func (l *limiter) abandon(w *waiter) {
	l.mu.Lock()
	queued := len(l.queue)
	l.queue = slices.DeleteFunc(l.queue, func(other *waiter) bool { return other == w })
	got := len(l.queue) == queued
	l.mu.Unlock()
	if got {
		l.release(w.host)
	}
}

// grant gives slots to those who wait, for who holds mu.
func (l *limiter) grant() {
	l.queue = slices.DeleteFunc(l.queue, func(w *waiter) bool {
		left := l.total - (l.busy - l.hosts[w.host])
		if l.busy == l.total || l.hosts[w.host] >= (left+1)/2 {
			return false
		}
		l.busy++
		l.hosts[w.host]++
		close(w.turn)
		return true
	})
}
