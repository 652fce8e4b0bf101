// SPDX-License-Identifier: Apache-2.0

// Package slots shares a few slots fairly among tenants.
//
// A slot that becomes free goes to the tenant that holds the fewest of those that wait; of
// tenants that hold as many, to the one that got one the longest ago. Inside a tenant the first
// to come is the first to go.
//
// Nothing takes a slot back, so the last free one of two or more is not for everybody: a tenant
// that has not shown yet to be done soon does not get it when it holds all others, and tenants
// that lately took long do not get it when they hold all others together. What takes long
// can so never keep what does not from running, but for once: a tenant has to be seen taking
// long before it is known to.
//
// What several tenants want is claimed once, with a place in the line of each.
package slots

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// lately is for how many times what is long a tenant is known to take long.
	lately = 100
	// remembered is how many tenants are known at most that neither hold nor wait for a slot.
	remembered = 10_000
)

// Slots are a number of slots. They are for use by many goroutines.
type Slots struct {
	size int
	long time.Duration
	now  func() time.Time

	mu      sync.Mutex
	tenants map[string]*tenant
	turns   *list.List // of *tenant, those that wait, in the order in which they began to
	holders []*place
	given   int // slots so far
}

// tenant is one of those that share the slots.
type tenant struct {
	waiting *list.List    // of *place
	turn    *list.Element // in turns; nil when nothing waits
	holds   int
	// last is the number of the slot that it got last, 0 for none.
	last int
	// soon is true when the last use was done soon.
	soon bool
	// long is until when the tenant is known to take long.
	long time.Time
}

// place is a place of a claim in the line of a tenant, and then a slot.
type place struct {
	claim  *Claim
	tenant *tenant
	at     *list.Element // in the line; nil when it is not there any more
	since  time.Time     // when it became a slot
}

// Claim is a wish for one slot, which several tenants may have: it is as far in line as the place
// of any of them.
type Claim struct {
	slots *Slots
	got   chan struct{} // closed when there is a slot
	// places in line, and then the slot, which is taken or given back; over is true when there is
	// no more to wait for.
	places []*place
	slot   *place
	taken  bool
	over   bool
}

// New makes Slots, at least one. Who holds one for long or longer is known for it.
func New(size int, long time.Duration, now func() time.Time) *Slots {
	return &Slots{size: max(size, 1), long: long, now: now, tenants: map[string]*tenant{}, turns: list.New()}
}

// Take waits until it is a tenant's turn, and gives what ends the use of the slot, to be called
// once. It leaves the line with the context's error when ctx ends.
func (s *Slots) Take(ctx context.Context, name string) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := s.Claim()
	defer c.Close()
	c.Join(name)
	return c.Take(ctx)
}

// Claim makes a Claim that nobody has joined yet. It is to be closed: it may have got a slot that
// nobody takes.
func (s *Slots) Claim() *Claim { return &Claim{slots: s, got: make(chan struct{})} }

// Join puts the claim at the end of the line of a tenant, too, and gives what takes that place
// away again. With a slot, neither does anything.
func (c *Claim) Join(name string) (leave func()) {
	s := c.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.over {
		return func() {}
	}
	t := s.tenant(name)
	p := &place{claim: c, tenant: t}
	p.at = t.waiting.PushBack(p)
	c.places = append(c.places, p)
	if t.turn == nil {
		t.turn = s.turns.PushBack(t)
	}
	s.share()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave(p)
	}
}

// Take waits until it is the turn of any tenant of the claim, and gives what ends the use of the
// slot, to be called once. When ctx ends before, the claim is closed, with its error.
func (c *Claim) Take(ctx context.Context) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		c.Close()
		return nil, err
	}
	select {
	case <-c.got:
		c.slots.mu.Lock()
		defer c.slots.mu.Unlock()
		c.taken = true
		return func() { c.slots.end(c.slot) }, nil
	case <-ctx.Done():
		c.Close()
		return nil, ctx.Err()
	}
}

// Close gives up the places of the claim, and the slot that it has got, unless it was taken. Nobody
// can join it any more.
func (c *Claim) Close() {
	s := c.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close(c)
	if c.slot != nil && !c.taken {
		c.taken = true
		s.free(c.slot)
	}
}

// Waiting is how many wait for a slot.
func (s *Slots) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for turn := s.turns.Front(); turn != nil; turn = turn.Next() {
		n += turn.Value.(*tenant).waiting.Len()
	}
	return n
}

// end frees a slot, and notes how long it was used.
func (s *Slots) end(p *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, now := p.tenant, s.now()
	if t.soon = now.Sub(p.since) < s.long; !t.soon {
		t.long = now.Add(lately * s.long)
	}
	s.free(p)
}

// The methods below are for who holds mu.

func (s *Slots) free(p *place) {
	p.tenant.holds--
	at := slices.Index(s.holders, p)
	s.holders = slices.Delete(s.holders, at, at+1)
	s.share()
}

// leave takes a place out of its line.
func (s *Slots) leave(p *place) {
	if p.at == nil {
		return
	}
	t := p.tenant
	t.waiting.Remove(p.at)
	p.at = nil
	if t.waiting.Len() == 0 {
		s.turns.Remove(t.turn)
		t.turn = nil
	}
}

// close takes all places of a claim out of their lines, for good.
func (s *Slots) close(c *Claim) {
	for _, p := range c.places {
		s.leave(p)
	}
	c.places, c.over = nil, true
}

// share gives slots away for as long as one is free that somebody may have.
func (s *Slots) share() {
	for {
		t := s.next()
		if t == nil {
			return
		}
		p := t.waiting.Front().Value.(*place)
		s.close(p.claim)
		s.given++
		t.holds, t.last = t.holds+1, s.given
		p.since = s.now()
		s.holders = append(s.holders, p)
		p.claim.slot = p
		close(p.claim.got)
	}
}

// next is the tenant that gets the next slot, nil when nobody does.
func (s *Slots) next() *tenant {
	var next *tenant
	for turn := s.turns.Front(); turn != nil; turn = turn.Next() {
		t := turn.Value.(*tenant)
		before := next == nil || t.holds < next.holds || t.holds == next.holds && t.last < next.last
		if before && s.mayTake(t) {
			next = t
		}
	}
	return next
}

// mayTake tells whether there is a slot for a tenant.
func (s *Slots) mayTake(t *tenant) bool {
	switch free := s.size - len(s.holders); {
	case free != 1 || s.size == 1:
		return free > 0
	case t.holds == len(s.holders) && !t.soon:
		return false
	}
	return !s.takesLong(t) || slices.ContainsFunc(s.holders, func(p *place) bool { return !s.takesLong(p.tenant) })
}

// takesLong tells whether a tenant took long lately, or does just now.
func (s *Slots) takesLong(t *tenant) bool {
	now := s.now()
	return now.Before(t.long) || slices.ContainsFunc(s.holders, func(p *place) bool {
		return p.tenant == t && now.Sub(p.since) >= s.long
	})
}

// tenant gives a tenant by its name.
func (s *Slots) tenant(name string) *tenant {
	t, ok := s.tenants[name]
	if !ok {
		if len(s.tenants) >= remembered {
			for name, t := range s.tenants {
				if t.holds == 0 && t.turn == nil {
					delete(s.tenants, name)
				}
			}
		}
		t = &tenant{waiting: list.New()}
		s.tenants[name] = t
	}
	return t
}
