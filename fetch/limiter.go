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
	// pace is what it has to receive for as much patience again: 64 KiB a second keep a slot.
	pace = 16 << 10
	// light is what an operation may have received and still cost next to nothing: even if it
	// was compressed as well as can be, little came of it.
	light = 4 << 10
	// slice is for how long an operation keeps its slot while others wait for one, however well it
	// goes on: a drip that is just fast enough does not keep it for ever.
	slice = 30 * time.Second
	// asidePerSlot bounds the operations that step aside, and those that yielded, for each slot that
	// there is: each has a connection.
	asidePerSlot = 32
)

// limiter bounds the operations under way in all, and those of a host to half of what other hosts
// leave. Those that wait for the network count for their host only: however many hosts hang, after
// however much, they do not hold up the others. Those that wait for others of this process do not
// count there: what they wait for may need a slot of the same host. They keep their tenant from
// beginning more, once they are half of what other tenants leave; who holds memory that they may
// wait for begins all the same, and is not held up by those of its host that wait. As far as hosts and
// tenants allow, the turns of those who wait go round among the tenants, and to those of one in the
// order in which they came.
type limiter struct {
	total int

	mu sync.Mutex
	// busy are the operations that hold a slot, aside those that stepped aside.
	busy, aside int
	hosts       map[string]*share // none of which is empty
	// yielded are those that did, and tenants those of each, none of which is 0.
	yielded int
	tenants map[string]int
	queue   []*slot
}

// share are the operations of a host that hold a slot or stepped aside, and how many hold one.
type share struct{ all, busy int }

// slot is one operation's. It holds one, or has stepped aside or yielded it, and gets one when it
// needs it.
type slot struct {
	limiter      *limiter
	tenant, host string
	// holdsMemory says that others may wait for what the operation has already.
	holdsMemory bool
	// The lock of the limiter guards the rest. turn is closed once the operation may go on.
	turn chan struct{}
	// begun says that it has had a turn; aside and yielded, of which one is true at most, that it
	// gave the slot back since, and done that it was released: some connection of the operation
	// may be read from still.
	begun, aside, yielded, done bool
	waits, bytes                int
	// got is when it had its last turn, used for how long it had a slot before that, and late that it
	// comes after all others of its tenant the next time, since that was for long.
	got  time.Time
	used time.Duration
	late bool
	// patience is what is left of it, since when the operation waits, and timer its end.
	patience time.Duration
	since    time.Time
	timer    *time.Timer
	// blocked is called before the operation waits for a turn that it has to have again, and what
	// it returns after it.
	blocked func() (ended func())
}

func newLimiter(total int) *limiter {
	return &limiter{total: total, hosts: map[string]*share{}, tenants: map[string]int{}}
}

func (l *limiter) slot(tenant, host string) *slot {
	return &slot{
		limiter: l, tenant: tenant, host: host, turn: make(chan struct{}), patience: patience,
		blocked: func() (ended func()) { return func() {} },
	}
}

// running counts the operations that hold a slot.
func (l *limiter) running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy
}

// acquire waits for the slot, which has to be released then. The error is the context's.
func (s *slot) acquire(ctx context.Context) error {
	l := s.limiter
	l.mu.Lock()
	l.queue = append(l.queue, s)
	l.grant()
	l.mu.Unlock()
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		s.release()
		return ctx.Err()
	}
}

// release gives back what the operation has, a place in the queue too.
func (s *slot) release() {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(l.queue, func(other *slot) bool { return other == s })
	s.done = true
	s.disarm()
	if !s.begun {
		return
	}
	if s.yielded {
		l.countYielded(s.tenant, -1)
	} else {
		s.leave()
	}
	l.grant()
}

// await is called before the operation waits for the network, and what it returns after it.
func (s *slot) await() (ended func()) {
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	if s.waits++; s.waits == 1 {
		s.arm()
	}
	return s.awaited
}

func (s *slot) awaited() {
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	if s.waits--; s.waits == 0 {
		s.disarm()
	}
}

// yield is called before the operation waits for others of this process, with no use for its slot;
// what it returns, after it, returns when the operation may go on, or when the context has ended.
func (s *slot) yield(ctx context.Context) (ended func()) {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if !s.yielded && !s.done {
		s.disarm()
		s.leave()
		// Who reads ahead may wait to go on already, and does so with the operation.
		l.queue = slices.DeleteFunc(l.queue, func(other *slot) bool { return other == s })
		if !s.aside {
			s.turn = make(chan struct{})
		}
		s.aside, s.yielded = false, true
		l.countYielded(s.tenant, 1)
		l.grant()
	}
	return func() { s.goOn(ctx) }
}

// received counts what came. It returns when the operation may hold more than that, or when the
// context has ended. What is read ahead while the operation waits for others needs no slot.
func (s *slot) received(ctx context.Context, bytes int) {
	l := s.limiter
	l.mu.Lock()
	s.bytes += bytes
	s.patience = min(patience, s.patience+patience*time.Duration(bytes)/pace)
	enough := s.bytes <= light || s.yielded
	if s.begun && s.holds() && len(l.queue) > 0 && s.used+time.Since(s.got) > slice {
		s.disarm()
		s.stand()
	}
	l.mu.Unlock()
	if !enough {
		s.goOn(ctx)
	}
}

// goOn returns when the operation has a slot, or when the context has ended.
func (s *slot) goOn(ctx context.Context) {
	l := s.limiter
	l.mu.Lock()
	if !s.aside && !s.yielded || s.done {
		l.mu.Unlock()
		return
	}
	turn := s.turn
	if !slices.Contains(l.queue, s) {
		// It came before those of its tenant who have not had a turn yet, unless it had one for long.
		at := slices.IndexFunc(l.queue, func(other *slot) bool { return other.tenant == s.tenant && !other.begun })
		if at < 0 || s.late {
			at = len(l.queue)
		}
		l.queue = slices.Insert(l.queue, at, s)
		l.grant()
	}
	l.mu.Unlock()
	select {
	case <-turn:
		return
	default:
	}
	defer s.blocked()()
	select {
	case <-turn:
	case <-ctx.Done():
	}
}

// stepAside gives the slot back of an operation that waits for the network. When too many have,
// it is tried again.
func (s *slot) stepAside() {
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.waits == 0 || !s.holds() {
		return
	}
	s.disarm()
	if l.aside >= l.total*asidePerSlot {
		s.patience = patience
		s.arm()
		return
	}
	s.stand()
	l.grant()
}

// The methods below are for who holds mu.

// holds says whether an operation that has had a turn holds a slot.
func (s *slot) holds() bool { return !s.aside && !s.yielded && !s.done }

// stand has an operation that holds a slot stand aside.
func (s *slot) stand() {
	l := s.limiter
	s.aside, s.turn = true, make(chan struct{})
	if s.used += time.Since(s.got); s.used > slice {
		s.used, s.late = 0, true
	}
	l.aside++
	l.busy--
	l.hosts[s.host].busy--
}

// leave has an operation that holds a slot, or stepped aside, count no more.
func (s *slot) leave() {
	l, of := s.limiter, s.limiter.hosts[s.host]
	if of.all--; of.all == 0 {
		delete(l.hosts, s.host)
	}
	if s.aside {
		l.aside--
		return
	}
	l.busy--
	of.busy--
}

// arm has an operation that waits and holds a slot step aside when its patience ends.
func (s *slot) arm() {
	if !s.holds() {
		return
	}
	s.since = time.Now()
	s.timer = time.AfterFunc(s.patience, s.stepAside)
}

func (s *slot) disarm() {
	if s.timer == nil {
		return
	}
	s.timer.Stop()
	s.timer = nil
	s.patience = max(0, s.patience-time.Since(s.since))
}

// countYielded counts an operation that yielded, or does no more.
func (l *limiter) countYielded(tenant string, by int) {
	l.yielded += by
	if l.tenants[tenant] += by; l.tenants[tenant] == 0 {
		delete(l.tenants, tenant)
	}
}

// crowded says that too many operations of a tenant yielded for one more to begin.
func (l *limiter) crowded(tenant string) bool {
	has := l.tenants[tenant]
	return !mayHave(has, l.total*asidePerSlot, l.yielded-has)
}

// mayHave says whether who has some may have one more: all have half of what others leave.
func mayHave(has, total, others int) bool { return has < (total-others+1)/2 }

// grant gives slots to those who wait.
func (l *limiter) grant() {
	for {
		next := slices.IndexFunc(l.queue, l.mayGoOn)
		if next < 0 {
			return
		}
		s := l.queue[next]
		l.queue = slices.Delete(l.queue, next, next+1)
		// That was its tenant's turn.
		slices.SortStableFunc(l.queue, func(a, b *slot) int { return compare(a.tenant == s.tenant, b.tenant == s.tenant) })
		l.give(s)
	}
}

// compare puts what is not before what is.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// mayGoOn says whether one of those who wait may have a slot now.
func (l *limiter) mayGoOn(s *slot) bool {
	of := l.hosts[s.host]
	if of == nil {
		of = &share{}
	}
	// Whoever has begun, or holds what others may wait for, is not held up by those that stepped aside.
	has, urgent := of.all, s.begun || s.holdsMemory
	if urgent {
		has = of.busy
	}
	return l.busy < l.total && mayHave(has, l.total, l.busy-of.busy) && (urgent || !l.crowded(s.tenant))
}

// give gives a slot to one who waited.
func (l *limiter) give(s *slot) {
	if s.yielded {
		l.countYielded(s.tenant, -1)
	}
	of := l.hosts[s.host]
	if of == nil {
		of = &share{}
		l.hosts[s.host] = of
	}
	l.busy++
	of.busy++
	if s.aside {
		l.aside--
	} else {
		of.all++
	}
	s.begun, s.aside, s.yielded, s.late = true, false, false, false
	s.got = time.Now()
	close(s.turn)
	if s.waits > 0 {
		s.arm()
	}
}
