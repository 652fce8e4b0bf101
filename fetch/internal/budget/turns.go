// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"cmp"
	"slices"
	"time"

	"kumodo.io/convoy/fetch/internal/fault"
)

const (
	// longest is for how long the one that goes on alone may keep others waiting: long enough for
	// something large from a slow host.
	longest = 2 * time.Minute
	// Patience is the least that a Hold should have: who waits has its turn before it ends, also
	// when another tenant's takes as long as it may.
	Patience = 2 * longest
	// stall is for how long a Hold may wait for its source while others wait for what it holds.
	stall = 10 * time.Second
	// pace is what has to come for as much of that again: a drip is worth no more than nothing.
	pace = 64 << 10
	// answered is what an answer that has come whole is worth: many small ones are no drip.
	answered = 2 * time.Second
	// look is how often those that keep others waiting are looked at.
	look = time.Second
)

// contention is a clock that runs while somebody waits for room.
type contention struct {
	past    time.Duration
	since   time.Time
	looking *time.Timer // nil while nobody waits
}

func (c *contention) now() time.Duration {
	if c.looking == nil {
		return c.past
	}
	return c.past + time.Since(c.since)
}

func (c *contention) start(look *time.Timer) { c.since, c.looking = time.Now(), look }

func (c *contention) stop() {
	c.past = c.now()
	c.looking.Stop()
	c.looking = nil
}

// Counts says whether the Hold has more than what everyone may; a nil one has not.
func (h *Hold) Counts() bool {
	if h == nil {
		return false
	}
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	return h.counts()
}

// Await is called before the work of a Hold waits for its source, and what it returns after it.
func (h *Hold) Await() (ended func()) {
	h.note(1, 0, 0)
	return func() { h.note(-1, 0, 0) }
}

// Pause is called before the work waits for others of this process, whatever it awaits of its
// source meanwhile, and what it returns after it.
func (h *Hold) Pause() (ended func()) {
	h.note(0, 1, 0)
	return func() { h.note(0, -1, 0) }
}

// Received tells of bytes that came from the source.
func (h *Hold) Received(bytes int) { h.note(0, 0, stall*time.Duration(bytes)/pace) }

// Answered tells that an answer of the source has come whole.
func (h *Hold) Answered() { h.note(0, 0, answered) }

func (h *Hold) note(awaits, pauses int, earned time.Duration) {
	if h == nil {
		return
	}
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	h.settle()
	h.awaits += awaits
	h.pauses += pauses
	h.stalled = max(0, h.stalled-earned)
}

// The methods below are for who holds mu.

// idle says that it holds what others may wait for, and does nothing but wait for its source.
func (h *Hold) idle() bool { return h.awaits > 0 && h.pauses == 0 && h.counts() }

// settle counts what has passed since it was called last.
func (h *Hold) settle() {
	now := h.budget.contention.now()
	if h.idle() {
		h.stalled += now - h.settled
	}
	h.settled = now
}

// grant gives room to those who wait and fit, in the order in which they came, and lets one of the
// others go on alone.
func (b *Budget) grant() {
	b.fill()
	if b.alone == nil && len(b.line) > 0 {
		b.alone, b.began = b.next(), b.contention.now()
		b.fill()
	}
	switch waits := len(b.line) > 0; {
	case waits && b.contention.looking == nil:
		b.contention.start(time.AfterFunc(look, b.look))
	case !waits && b.contention.looking != nil:
		b.contention.stop()
		b.began = b.contention.now()
		clear(b.served)
	}
}

func (b *Budget) fill() {
	b.line = slices.DeleteFunc(b.line, func(t *turn) bool {
		if !b.fits(t.hold, t.bytes) {
			return false
		}
		b.add(t.hold, t.bytes)
		close(t.got)
		return true
	})
}

// next returns who goes on alone: the first in line of the tenant that has had no turn for longest.
func (b *Budget) next() *Hold {
	h := slices.MinFunc(b.line, func(x, y *turn) int { return cmp.Compare(b.served[x.hold.tenant], b.served[y.hold.tenant]) }).hold
	b.given++
	b.served[h.tenant] = b.given
	return h
}

// look ends the work of those that have kept others waiting for too long.
func (b *Budget) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.contention.looking == nil {
		return
	}
	b.contention.looking.Reset(look)
	if b.alone != nil && b.contention.now()-b.began >= longest {
		b.alone.end(fault.New(fault.ErrUnreachable, "it takes more memory of this process than there is room for, and did not come to its end in the %s for which others may wait for that; it is tried again (more has room with a larger --artifact-cache-bytes)", longest))
	}
	for h := range b.holding {
		if h.settle(); h.idle() && h.stalled >= stall {
			h.end(fault.New(fault.ErrUnreachable, "the server sent next to nothing for %s while other fetches waited for the memory of this process that this one held, so that it was given to them; it is tried again (more at a time has room with a larger --artifact-cache-bytes)", stall))
		}
	}
}
