// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"sync"
)

// limiter bounds the operations under way, in all and for each host, so that a host that
// hangs does not hold up the others.
type limiter struct {
	total   chan struct{}
	perHost int

	mu    sync.Mutex
	hosts map[string]*host
}

type host struct {
	slots chan struct{}
	users int
}

func newLimiter(total int) *limiter {
	return &limiter{total: make(chan struct{}, total), perHost: max(1, total/2), hosts: map[string]*host{}}
}

// acquire waits for a slot and returns how to give it back. The error is the context's.
func (l *limiter) acquire(ctx context.Context, name string) (release func(), err error) {
	h := l.enter(name)
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		l.leave(name, h)
		return nil, ctx.Err()
	}
	select {
	case l.total <- struct{}{}:
	case <-ctx.Done():
		<-h.slots
		l.leave(name, h)
		return nil, ctx.Err()
	}
	return func() {
		<-l.total
		<-h.slots
		l.leave(name, h)
	}, nil
}

func (l *limiter) enter(name string) *host {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts[name]
	if h == nil {
		h = &host{slots: make(chan struct{}, l.perHost)}
		l.hosts[name] = h
	}
	h.users++
	return h
}

func (l *limiter) leave(name string, h *host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(l.hosts, name)
	}
}
