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
// alone has others wait for a turn at most. The turns go round among the tenants, however many of
// one wait. Who had its turn, or holds what others wait for while its source sends nothing, is
// ended, and gives back what it holds.
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

// Budget is a number of bytes that many share. It is safe for concurrent use.
type Budget struct {
	total int64

	mu      sync.Mutex
	used    int64
	hosts   map[string]int64   // what of used is held for each; none is 0
	holding map[*Hold]struct{} // those whose bytes count
	line    []*turn
	// alone is the one that goes on without room, nil when there is none, and began is since when
	// it keeps others waiting, by the time of contention.
	alone      *Hold
	began      time.Duration
	contention contention
	// served are the tenants that went on alone since somebody waits: how many had by the last time
	// of each; given is how many have.
	served map[string]int
	given  int
}

// turn is a place in line.
type turn struct {
	hold  *Hold
	bytes int64
	got   chan struct{}
}

// Hold is what one of those who share a Budget holds.
type Hold struct {
	budget       *Budget
	tenant, host string
	// end ends the context of the work, patience is for how long it may wait in all.
	end      context.CancelCauseFunc
	patience time.Duration
	// The mu of the Budget guards the rest: bytes, of which those beyond free count, and for how
	// long it has waited.
	bytes  int64
	waited time.Duration
	// awaits and pauses are those of Await and Pause that have not ended, and stalled is for how
	// long it was idle while others waited, less what came since is worth; settled is when that was
	// counted last, by the time of contention.
	awaits, pauses   int
	stalled, settled time.Duration
}

// New returns a Budget of total bytes.
func New(total int64) *Budget {
	return &Budget{total: total, hosts: map[string]int64{}, holding: map[*Hold]struct{}{}, served: map[string]int{}}
}

// Open returns a context whose work holds bytes in a Hold, and that, which has to be closed. All
// for one host together get half of what others leave: there is room beside any number of hosts
// that do not go on. The context ends when its work has waited for room for longer than patience
// in all, or has gone on alone for too long while others waited, or has waited for its source for
// too long while others waited for what it holds; its cause says so.
func (b *Budget) Open(ctx context.Context, tenant, host string, patience time.Duration) (context.Context, *Hold) {
	ctx, end := context.WithCancelCause(ctx)
	h := &Hold{budget: b, tenant: tenant, host: host, end: end, patience: patience}
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
	goOn, resume := waiting(), h.Pause()
	mu := &h.budget.mu
	mu.Lock()
	defer mu.Unlock()
	began := time.Now()
	timer := time.AfterFunc(h.patience-h.waited, func() {
		h.end(fault.New(fault.ErrUnreachable, "it waited for room in the memory of this process, which other fetches take up, for longer than %s; it is tried again (more at a time has room with a larger --artifact-cache-bytes)", h.patience))
	})
	return func() {
		mu.Lock()
		timer.Stop()
		h.waited += time.Since(began)
		mu.Unlock()
		resume()
		goOn()
	}
}

// giveBack has the hold down to a number of bytes.
func (h *Hold) giveBack(to int64) {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(h, min(0, to-h.bytes))
	if b.alone == h && !h.counts() {
		b.alone = nil
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
	h.settle()
	if h.bytes += bytes; h.counts() {
		b.holding[h] = struct{}{}
	} else {
		delete(b.holding, h)
	}
	b.used += more
	if b.hosts[h.host] += more; b.hosts[h.host] == 0 {
		delete(b.hosts, h.host)
	}
}

func counted(bytes int64) int64 { return max(0, bytes-free) }

func (h *Hold) counts() bool { return counted(h.bytes) > 0 }

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
	h := Of(ctx)
	if h == nil {
		return nil
	}
	waiting, ok := ctx.Value(waitingKey{}).(func() func())
	if !ok {
		waiting = func() func() { return func() {} }
	}
	return fault.FromRequest(h.take(ctx, bytes, waiting), nil)
}

// Of returns the Hold of the context, nil when there is none.
func Of(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}

// Mark returns what gives back whatever is taken from now on with the Hold of the context.
func Mark(ctx context.Context) (giveBack func()) {
	h := Of(ctx)
	if h == nil {
		return func() {}
	}
	h.budget.mu.Lock()
	defer h.budget.mu.Unlock()
	before := h.bytes
	return func() { h.giveBack(before) }
}
