// SPDX-License-Identifier: Apache-2.0

// Package budget shares a number of bytes among those who take content in, so that what all of
// them hold at a time is bounded, not just what each does.
//
// Nobody knows beforehand how much there will be, so that bytes are taken as they come, and who
// does not find room waits with what it has. It cannot come to a standstill all the same: one at a
// time, the first of those who wait, goes on however much it takes. The bound is the budget, and
// what that one may have. Who waits for another one's work must hold nothing meanwhile.
//
// Nobody waits for ever either: each waits for as long as it may in all, and the one that goes on
// alone has others wait for a turn at most. Who had that is ended, and gives back what it holds.
package budget

import (
	"context"
	"slices"
	"sync"
	"time"

	"kumodo.io/convoy/fetch/internal/fault"
)

// free is what everyone may hold besides: short answers wait for nobody's long ones.
const free = 64 << 10

// longest is for how long the one that goes on alone may keep others waiting: long enough for
// something large from a slow host.
const longest = 2 * time.Minute

// Budget is a number of bytes that many share. It is safe for concurrent use.
type Budget struct {
	total int64

	mu    sync.Mutex
	used  int64
	hosts map[string]int64 // what of used is held for each; none is 0
	line  []*turn
	// alone is the one that goes on without room, nil when there is none.
	alone *Hold
	// late ends the work of alone when it has kept others waiting for too long; nil while it keeps
	// nobody waiting.
	late *time.Timer
}

// turn is a place in line.
type turn struct {
	hold  *Hold
	bytes int64
	got   chan struct{}
}

// Hold is what one of those who share a Budget holds.
type Hold struct {
	budget *Budget
	host   string
	// end ends the context of the work, patience is for how long it may wait in all.
	end      context.CancelCauseFunc
	patience time.Duration
	// The mu of the Budget guards the rest: bytes, of which those beyond free count, and for how
	// long it has waited.
	bytes  int64
	waited time.Duration
}

// New returns a Budget of total bytes.
func New(total int64) *Budget { return &Budget{total: total, hosts: map[string]int64{}} }

// Open returns a context whose work holds bytes in a Hold, and that, which has to be closed. All
// for one host together get half of what others leave: there is room beside any number of hosts
// that do not go on. The context ends when its work has waited for room for longer than patience
// in all, or has gone on alone for too long while others waited; its cause says so.
func (b *Budget) Open(ctx context.Context, host string, patience time.Duration) (context.Context, *Hold) {
	ctx, end := context.WithCancelCause(ctx)
	h := &Hold{budget: b, host: host, end: end, patience: patience}
	return context.WithValue(ctx, holdKey{}, h), h
}

// Used returns the bytes that are held.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// take holds more bytes, after it has waited for room. waiting is called before it waits, and what
// it returns after it. The error is the context's.
func (h *Hold) take(ctx context.Context, bytes int64, waiting func() (ended func())) error {
	b := h.budget
	b.mu.Lock()
	if b.fits(h, bytes) {
		b.add(h, bytes)
		b.mu.Unlock()
		return nil
	}
	t := &turn{hold: h, bytes: bytes, got: make(chan struct{})}
	b.line = append(b.line, t)
	b.grant()
	b.mu.Unlock()
	select {
	case <-t.got:
		return nil
	default:
	}
	defer h.wait(waiting)()
	select {
	case <-t.got:
		return nil
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		// What came too late is given back with all the rest.
		b.line = slices.DeleteFunc(b.line, func(other *turn) bool { return other == t })
		b.grant()
		return ctx.Err()
	}
}

// wait counts the time until what it returns is called, which ends the work when it is too long.
func (h *Hold) wait(waiting func() (ended func())) (ended func()) {
	goOn := waiting()
	mu := &h.budget.mu
	mu.Lock()
	defer mu.Unlock()
	began := time.Now()
	timer := time.AfterFunc(h.patience-h.waited, func() {
		h.end(fault.New(fault.ErrUnreachable, "it waited for room in the memory of this process, which other fetches take up, for longer than the time limit of %s; it is tried again (more at a time has room with a larger --artifact-cache-bytes)", h.patience))
	})
	return func() {
		mu.Lock()
		timer.Stop()
		h.waited += time.Since(began)
		mu.Unlock()
		goOn()
	}
}

// giveBack has the hold down to a number of bytes.
func (h *Hold) giveBack(to int64) {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(h, min(0, to-h.bytes))
	if b.alone == h && to <= free {
		b.alone = nil
		b.inTime()
	}
	b.grant()
}

// Close gives back all, and ends the context.
func (h *Hold) Close() {
	h.end(nil)
	h.giveBack(0)
}

// The methods below are for who holds mu.

// fits says whether there is room for more bytes.
func (b *Budget) fits(h *Hold, bytes int64) bool {
	more := counted(h.bytes+bytes) - counted(h.bytes)
	of := b.hosts[h.host]
	return more == 0 || b.alone == h || b.used+more <= b.total && of+more <= (b.total-(b.used-of))/2
}

func (b *Budget) add(h *Hold, bytes int64) {
	more := counted(h.bytes+bytes) - counted(h.bytes)
	h.bytes += bytes
	b.used += more
	if b.hosts[h.host] += more; b.hosts[h.host] == 0 {
		delete(b.hosts, h.host)
	}
}

func counted(bytes int64) int64 { return max(0, bytes-free) }

// grant gives room to those who wait and fit, in the order in which they came, and lets the first
// of the others go on alone.
func (b *Budget) grant() {
	b.line = slices.DeleteFunc(b.line, func(t *turn) bool {
		if b.alone == nil && !b.fits(t.hold, t.bytes) {
			b.alone = t.hold
		}
		if !b.fits(t.hold, t.bytes) {
			return false
		}
		b.add(t.hold, t.bytes)
		close(t.got)
		return true
	})
	switch {
	case b.alone == nil || len(b.line) == 0:
		b.inTime()
	case b.late == nil:
		end := b.alone.end
		b.late = time.AfterFunc(longest, func() {
			end(fault.New(fault.ErrUnreachable, "it takes more memory of this process than there is room for, and did not come to its end in the %s for which others may wait for that; it is tried again (more has room with a larger --artifact-cache-bytes)", longest))
		})
	}
}

// inTime says that nobody is kept waiting.
func (b *Budget) inTime() {
	if b.late != nil {
		b.late.Stop()
		b.late = nil
	}
}

type holdKey struct{}

type waitingKey struct{}

// WithWaiting returns a context whose work has waiting called before it waits for room, and what
// that returns after it.
func WithWaiting(ctx context.Context, waiting func() (ended func())) context.Context {
	return context.WithValue(ctx, waitingKey{}, waiting)
}

// Take holds more bytes in the Hold of the context, before or just after they come; it waits for
// room. The error is that of the context, with its kind, also when there is no Hold.
func Take(ctx context.Context, bytes int64) error {
	if err := ctx.Err(); err != nil {
		return fault.FromRequest(err, nil)
	}
	h, ok := ctx.Value(holdKey{}).(*Hold)
	if !ok {
		return nil
	}
	waiting, ok := ctx.Value(waitingKey{}).(func() func())
	if !ok {
		waiting = func() func() { return func() {} }
	}
	return fault.FromRequest(h.take(ctx, bytes, waiting), nil)
}

// Mark returns what gives back whatever is taken from now on with the Hold of the context.
func Mark(ctx context.Context) (giveBack func()) {
	h, ok := ctx.Value(holdKey{}).(*Hold)
	if !ok {
		return func() {}
	}
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	before := h.bytes
	return func() { h.giveBack(before) }
}
