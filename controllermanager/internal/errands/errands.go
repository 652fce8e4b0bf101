// SPDX-License-Identifier: Apache-2.0

package errands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kumodo.io/convoy/internal/controller/base"
)

// MostHeavy is how many heavy errands go on for the keys of a namespace.
const MostHeavy = 64

// haste is what part of its patience a pass has left for further errands when it has waited for
// one in vain: enough for what is in memory.
const haste = 10

// Errands are those of the keys of one controller. Enqueue and Clock are required.
type Errands struct {
	// Enqueue is called with a key whose errand is done, or whose turn it is.
	Enqueue func(key types.NamespacedName, p base.Priority)
	// Clock tells since when errands go on.
	Clock clock.PassiveClock

	mu sync.Mutex
	// of has the errands of each key whose passes want them, by their IDs.
	of map[types.NamespacedName]map[any]*running
	// heavy counts the heavy ones by namespace that go on.
	heavy map[string]int
	// lines has the keys by namespace that wait until there are fewer than MostHeavy.
	lines map[string][]turn
}

// Errand is something that a pass wants done.
type Errand[V any] struct {
	// ID tells it from others of the same key; it is comparable. What differs in it is another
	// errand, and the one before ends.
	ID any
	// Patience is how long a pass waits for it.
	Patience time.Duration
	// Heavy is what takes much memory while it goes on: of those, MostHeavy go on for a namespace,
	// and the keys of others wait in line, for which nothing is begun before their turn. What came
	// of one is given to each pass until one waits for no other heavy one; what came of a light one
	// is given once.
	Heavy bool
	// Known gives what a heavy one comes to if that takes little; ok is false when it does not. It
	// is for keys whose turn it is not; nil knows nothing.
	Known func(ctx context.Context) (value V, ok bool, err error)
	// Pending says that it is not done yet, for people.
	Pending string
	// Do does it, until ctx ends.
	Do func(ctx context.Context) (V, error)
}

// Unfinished is the error of an errand that takes longer than a pass waits. The key of the pass is
// enqueued when it is done.
type Unfinished struct {
	// Since is when it began; the zero time when it waits in line.
	Since   time.Time
	pending string
}

func (u *Unfinished) Error() string { return u.pending }

// ErrUnfinished is what every *Unfinished is.
var ErrUnfinished = errors.New("it is not done yet")

// Is implements errors.Is.
func (u *Unfinished) Is(target error) bool { return target == ErrUnfinished }

// running is an errand that has begun. All fields but end and done are guarded by the mu of
// Errands.
type running struct {
	key      types.NamespacedName // that wants it
	heavy    bool
	counts   bool // among the heavy ones that go on
	since    time.Time
	end      context.CancelFunc
	left     bool // no pass waits for it
	priority base.Priority

	done  chan struct{} // closed when what follows is known
	over  bool
	value any
	err   error
}

// Pass is what is kept of a pass. It is guarded by the mu of Errands.
type Pass struct {
	errands  *Errands
	key      types.NamespacedName
	priority base.Priority
	// wanted are the errands of the pass, and open those that were not done in time.
	wanted, open map[any]bool
	// pending is the oldest heavy one that was not done in time, nil when there is none.
	pending *Unfinished
	// inLine is true when one waits in line, and impatient when the pass has waited in vain.
	inLine, impatient bool
}

type passKey struct{}

// Begin gives the context of a pass, by which its errands are known. The key is enqueued with the
// priority for what became of them.
func (e *Errands) Begin(ctx context.Context, key types.NamespacedName, p base.Priority) (context.Context, *Pass) {
	pass := &Pass{errands: e, key: key, priority: p, wanted: map[any]bool{}, open: map[any]bool{}}
	return context.WithValue(ctx, passKey{}, pass), pass
}

// Do does an errand for the pass of the context, and gives *Unfinished when that takes longer than
// the pass waits. Outside of a pass, it is done at once.
func Do[V any](ctx context.Context, errand Errand[V]) (V, error) {
	pass, ok := ctx.Value(passKey{}).(*Pass)
	if !ok {
		return errand.Do(ctx)
	}
	var none V
	untyped := Errand[any]{
		ID: errand.ID, Patience: errand.Patience, Heavy: errand.Heavy, Pending: errand.Pending,
		Do: func(ctx context.Context) (any, error) { return errand.Do(ctx) },
	}
	if errand.Known != nil {
		untyped.Known = func(ctx context.Context) (any, bool, error) { return errand.Known(ctx) }
	}
	value, err := pass.errands.do(ctx, pass, untyped)
	if value == nil {
		return none, err
	}
	return value.(V), err
}

func (e *Errands) do(ctx context.Context, pass *Pass, errand Errand[any]) (any, error) {
	work, patience := e.join(ctx, pass, errand)
	if work == nil {
		return e.wait(ctx, pass, errand)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-work.done:
		return work.value, work.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return e.leave(pass, errand, work)
	}
}

// join gives the errand that a pass wants, which begins unless an earlier pass began it, and how
// long the pass waits for it. It is nil when the key has to wait in line first.
func (e *Errands) join(ctx context.Context, pass *Pass, errand Errand[any]) (work *running, patience time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	pass.wanted[errand.ID] = true
	patience = errand.Patience
	if pass.impatient {
		patience /= haste
	}
	if work, ok := e.of[pass.key][errand.ID]; ok {
		if work.left { // its end is a cause for another pass in any case
			return work, 0
		}
		return work, patience
	}
	if errand.Heavy && !e.mayBegin(pass.key) {
		return nil, 0
	}
	work = &running{key: pass.key, heavy: errand.Heavy, since: e.Clock.Now(), done: make(chan struct{})}
	if e.of == nil {
		e.of, e.heavy, e.lines = map[types.NamespacedName]map[any]*running{}, map[string]int{}, map[string][]turn{}
	}
	if e.of[pass.key] == nil {
		e.of[pass.key] = map[any]*running{}
	}
	e.of[pass.key][errand.ID] = work
	if work.counts = work.heavy; work.counts {
		e.heavy[pass.key.Namespace]++
		e.leaveLine(pass.key)
	}
	var working context.Context
	working, work.end = context.WithCancel(context.WithValue(context.WithoutCancel(ctx), passKey{}, nil))
	go e.run(working, work, errand.Do)
	return work, patience
}

func (e *Errands) run(ctx context.Context, work *running, do func(context.Context) (any, error)) {
	defer work.end()
	value, err := guarded(ctx, do)
	e.mu.Lock()
	defer e.mu.Unlock()
	work.value, work.err, work.over = value, err, true
	close(work.done)
	left := work.left
	e.settle(work)
	if left {
		e.Enqueue(work.key, work.priority)
	}
	e.call(work.key.Namespace)
}

// guarded does an errand; a panic is an error, as in a pass.
func guarded(ctx context.Context, do func(context.Context) (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			// The panic's own text may show values of Secrets.
			klog.FromContext(ctx).Error(nil, "Work panicked", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			value, err = nil, fmt.Errorf("internal error: panic of type %T", p)
		}
	}()
	return do(ctx)
}

// leave has an errand go on without its pass.
func (e *Errands) leave(pass *Pass, errand Errand[any], work *running) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if work.over {
		return work.value, work.err
	}
	pass.open[errand.ID] = true
	pass.impatient = pass.impatient || !work.left
	unfinished := &Unfinished{Since: work.since, pending: errand.Pending}
	if work.heavy {
		pass.pending = older(pass.pending, unfinished)
	}
	work.left, work.priority = true, pass.priority
	return nil, unfinished
}

// older gives which of two began first; a is nil when there is none yet.
func older(a, b *Unfinished) *Unfinished {
	if a == nil || a.Since.IsZero() || !b.Since.IsZero() && b.Since.Before(a.Since) {
		return b
	}
	return a
}

// Pending gives the oldest heavy errand of the context's pass that was not done in time, nil when
// there is none.
func Pending(ctx context.Context) *Unfinished {
	pass, ok := ctx.Value(passKey{}).(*Pass)
	if !ok {
		return nil
	}
	pass.errands.mu.Lock()
	defer pass.errands.mu.Unlock()
	return pass.pending
}

// Finish ends what the pass did not want, and drops what it was given, unless the next one needs
// that again.
func (p *Pass) Finish() {
	e := p.errands
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, work := range e.of[p.key] {
		if !p.wanted[id] || !p.open[id] && !(work.heavy && p.pending != nil) {
			e.drop(id, work)
		}
	}
	if !p.inLine {
		e.leaveLine(p.key)
	}
	e.call(p.key.Namespace)
}

// Forget ends all errands for a key.
func (e *Errands) Forget(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, work := range e.of[key] {
		e.drop(id, work)
	}
	e.leaveLine(key)
	e.call(key.Namespace)
}

// Retain ends the errands for all keys but those that keep tells.
func (e *Errands) Retain(keep func(key types.NamespacedName) bool) {
	for _, key := range e.Wanting() {
		if !keep(key) {
			e.Forget(key)
		}
	}
}

// Wanting gives the keys that errands go on for, or that wait in line; a key may come twice.
func (e *Errands) Wanting() []types.NamespacedName {
	e.mu.Lock()
	defer e.mu.Unlock()
	keys := slices.Collect(maps.Keys(e.of))
	for _, line := range e.lines {
		for _, t := range line {
			keys = append(keys, t.key)
		}
	}
	return keys
}

// Count gives how many errands there are for a key.
func (e *Errands) Count(key types.NamespacedName) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.of[key])
}

// The methods below are for who holds mu.

// drop ends an errand that is not wanted any more.
func (e *Errands) drop(id any, work *running) {
	work.end()
	e.settle(work)
	delete(e.of[work.key], id)
	if len(e.of[work.key]) == 0 {
		delete(e.of, work.key)
	}
}

// settle has an errand no longer count among those that go on.
func (e *Errands) settle(work *running) {
	if work.left = false; !work.counts {
		return
	}
	work.counts = false
	namespace := work.key.Namespace
	if e.heavy[namespace]--; e.heavy[namespace] == 0 {
		delete(e.heavy, namespace)
	}
}
