// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// patience is for how long an operation may wait for the network and keep its slot.
	patience = 250 * time.Millisecond
	// light is what an operation may have received and still cost next to nothing: even if it
	// was compressed as well as can be, little came of it.
	light = 4 << 10
	// asidePerSlot bounds the operations that step aside, for each slot that there is: each has
	// a connection.
	asidePerSlot = 32
)

// limiter bounds the operations under way in all, and those of a host to half of what other hosts
// leave. Those that wait for the network and have received next to nothing count for their host
// only: however many hosts hang, they do not hold up the others. Those who wait have their turns
// in the order in which they came, as far as their hosts allow.
type limiter struct {
	total int

	mu sync.Mutex
	// busy are the operations that hold a slot, aside those that stepped aside.
	busy, aside int
	hosts       map[string]*share // none of which is empty
	queue       []*slot
}

// share are the operations of a host, and how many of them hold a slot.
type share struct{ all, busy int }

// slot is one operation's. It holds one, or has stepped aside and gets one when it needs it.
type slot struct {
	limiter *limiter
	host    string
	// The lock of the limiter guards the rest. turn is closed once the operation may go on.
	turn chan struct{}
	// begun says that it has had a turn, aside that it gave the slot back since, and done that it
	// was released: some connection of the operation may be read from still.
	begun, aside, done bool
	waits, bytes       int
}

func newLimiter(total int) *limiter { return &limiter{total: total, hosts: map[string]*share{}} }

// running counts the operations that hold a slot.
func (l *limiter) running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy
}

// acquire waits for a slot, which has to be released. The error is the context's.
func (l *limiter) acquire(ctx context.Context, host string) (*slot, error) {
	s := &slot{limiter: l, host: host, turn: make(chan struct{})}
	l.mu.Lock()
	l.queue = append(l.queue, s)
	l.grant()
	l.mu.Unlock()
	select {
	case <-s.turn:
		return s, nil
	case <-ctx.Done():
		s.release()
		return nil, ctx.Err()
	}
}

// release gives back what the operation has, a place in the queue too.
func (s *slot) release() {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(l.queue, func(other *slot) bool { return other == s })
	s.done = true
	if !s.begun {
		return
	}
	of := l.hosts[s.host]
	if of.all--; of.all == 0 {
		delete(l.hosts, s.host)
	}
	if s.aside {
		l.aside--
	} else {
		l.busy--
		of.busy--
	}
	l.grant()
}

// await is called before the operation waits for the network, and what it returns after it.
func (s *slot) await() (ended func()) {
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	s.waits++
	timer := time.AfterFunc(patience, s.stepAside)
	return func() {
		timer.Stop()
		s.limiter.mu.Lock()
		defer s.limiter.mu.Unlock()
		s.waits--
	}
}

// stepAside gives the slot back of an operation that waits and has received next to nothing.
func (s *slot) stepAside() {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.waits == 0 || s.aside || s.done || s.bytes > light || l.aside >= l.total*asidePerSlot {
		return
	}
	s.aside, s.turn = true, make(chan struct{})
	l.aside++
	l.busy--
	l.hosts[s.host].busy--
	l.grant()
}

// received counts what came. It returns when the operation may hold more than that, or when the
// context has ended.
func (s *slot) received(ctx context.Context, bytes int) {
	l := s.limiter
	l.mu.Lock()
	s.bytes += bytes
	if !s.aside || s.done || s.bytes <= light {
		l.mu.Unlock()
		return
	}
	turn := s.turn
	if !slices.Contains(l.queue, s) {
		// It came before all those who have not had a turn yet.
		at := slices.IndexFunc(l.queue, func(other *slot) bool { return !other.begun })
		if at < 0 {
			at = len(l.queue)
		}
		l.queue = slices.Insert(l.queue, at, s)
		l.grant()
	}
	l.mu.Unlock()
	select {
	case <-turn:
	case <-ctx.Done():
	}
}

// grant gives slots to those who wait, for who holds mu.
func (l *limiter) grant() {
	l.queue = slices.DeleteFunc(l.queue, func(s *slot) bool {
		of := l.hosts[s.host]
		if of == nil {
			of = &share{}
		}
		// Whoever stepped aside is one of all already.
		has := of.all
		if s.begun {
			has = of.busy
		}
		left := l.total - (l.busy - of.busy)
		if l.busy == l.total || has >= (left+1)/2 {
			return false
		}
		l.busy++
		of.busy++
		if s.begun {
			l.aside--
		} else {
			of.all++
			l.hosts[s.host] = of
		}
		s.begun, s.aside = true, false
		close(s.turn)
		return true
	})
}
