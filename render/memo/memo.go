// SPDX-License-Identifier: Apache-2.0

// Package memo remembers the outcomes of work by key, and does the work of one key once
// however many ask for it at the same time.
package memo

import (
	"container/list"
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"k8s.io/klog/v2"
)

// Memo remembers a bounded number of outcomes; those not asked for the longest go first.
type Memo[K comparable, V any] struct {
	limit int
	keep  func(error) bool
	// most is what all outcomes may weigh.
	most  int64
	weigh func(V) int64

	mu      sync.Mutex
	entries map[K]*list.Element
	recent  *list.List // of outcome, most recently used first
	flights map[K]*flight[K, V]
	weight  int64
}

type outcome[K comparable, V any] struct {
	key   K
	value V
	err   error
	// weight of it all, if that is weighed.
	weight int64
}

// flight is work under way; outcome is set once done is closed.
type flight[K comparable, V any] struct {
	done    chan struct{}
	outcome outcome[K, V]
	// callers wait for it; end ends its context. callers is guarded by the Memo's mu.
	callers int
	end     context.CancelFunc
	// join is that of the Work.
	join func(who string) (leave func())
}

// New makes a Memo of at most limit outcomes. Failures for which keep is true are
// remembered like values; the others are tried again by the next who asks.
func New[K comparable, V any](limit int, keep func(error) bool) *Memo[K, V] {
	return &Memo[K, V]{
		limit: limit, keep: keep,
		entries: map[K]*list.Element{}, recent: list.New(), flights: map[K]*flight[K, V]{},
	}
}

// besides is about what an outcome takes besides its value.
const besides = 512

// Weigh bounds what all that is remembered weighs together; what weighs more is not remembered.
// A failure weighs what its text does. It is called before any other method, and gives the Memo.
func (m *Memo[K, V]) Weigh(most int64, weigh func(V) int64) *Memo[K, V] {
	m.most, m.weigh = most, weigh
	return m
}

// Do gives the outcome of work for a key; known tells that it was remembered. When the context
// of a caller ends, that caller gets the context's error, and work goes on for the others; when
// nobody is left, the context of work ends, and the next who asks begins anew. A panic of work
// is an error.
func (m *Memo[K, V]) Do(ctx context.Context, key K, work func(context.Context) (V, error)) (value V, known bool, err error) {
	return m.DoFor(ctx, key, Work[V]{Do: work}, "")
}

// Work is what is done for a key.
type Work[V any] struct {
	Do func(context.Context) (V, error)
	// Join is told of each who begins to wait for the work, the first one, too, and gives what
	// is called when that one waits no more. It may be nil.
	Join func(who string) (leave func())
}

// DoFor is Do for a caller whom the work, which may be that of another, is told of.
func (m *Memo[K, V]) DoFor(ctx context.Context, key K, work Work[V], who string) (value V, known bool, err error) {
	m.mu.Lock()
	if o, ok := m.find(key); ok {
		m.mu.Unlock()
		return o.value, true, o.err
	}
	if err := ctx.Err(); err != nil {
		m.mu.Unlock()
		return value, false, err
	}
	f, ok := m.flights[key]
	if !ok {
		f = &flight[K, V]{done: make(chan struct{}), join: work.Join}
		m.flights[key] = f
		var working context.Context
		working, f.end = context.WithCancel(context.WithoutCancel(ctx))
		go m.fly(working, key, f, work.Do)
	}
	f.callers++
	m.mu.Unlock()
	value, err = m.wait(ctx, key, f, who)
	return value, false, err
}

// Join is DoFor for a caller who cannot do the work: found tells that it was remembered, or was
// waited for.
func (m *Memo[K, V]) Join(ctx context.Context, key K, who string) (value V, found bool, err error) {
	m.mu.Lock()
	if o, ok := m.find(key); ok {
		m.mu.Unlock()
		return o.value, true, o.err
	}
	f, ok := m.flights[key]
	if !ok {
		m.mu.Unlock()
		return value, false, nil
	}
	f.callers++
	m.mu.Unlock()
	value, err = m.wait(ctx, key, f, who)
	return value, true, err
}

// wait is for one of the callers of a flight.
func (m *Memo[K, V]) wait(ctx context.Context, key K, f *flight[K, V], who string) (value V, err error) {
	if f.join != nil {
		defer f.join(who)()
	}
	select {
	case <-f.done:
		return f.outcome.value, f.outcome.err
	case <-ctx.Done():
		m.leave(key, f)
		return value, ctx.Err()
	}
}

// leave takes a caller away from work that is under way.
func (m *Memo[K, V]) leave(key K, f *flight[K, V]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.callers--; f.callers == 0 {
		m.land(key, f)
	}
}

// land ends a flight, for who holds mu. Another of its key may have begun since it was left.
func (m *Memo[K, V]) land(key K, f *flight[K, V]) {
	if m.flights[key] == f {
		delete(m.flights, key)
	}
	f.end()
}

// Get gives the value that is remembered for a key.
func (m *Memo[K, V]) Get(key K) (value V, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.find(key)
	return o.value, ok && o.err == nil
}

// Known gives the outcome that is remembered for a key, a failure, too.
func (m *Memo[K, V]) Known(key K) (value V, known bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.find(key)
	return o.value, ok, o.err
}

// find gives what is remembered for a key, which has been asked for then; for who holds mu.
func (m *Memo[K, V]) find(key K) (o outcome[K, V], ok bool) {
	element, ok := m.entries[key]
	if !ok {
		return o, false
	}
	m.recent.MoveToFront(element)
	return element.Value.(outcome[K, V]), true
}

// Put remembers a value for a key.
func (m *Memo[K, V]) Put(key K, value V) { m.Remember(key, value, nil) }

// Remember remembers an outcome for a key, as one of Do; a failure that is not kept leaves what
// was remembered before.
func (m *Memo[K, V]) Remember(key K, value V, err error) {
	if err != nil && !m.keep(err) {
		return
	}
	o := m.weighed(outcome[K, V]{key: key, value: value, err: err})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remember(o)
}

// Forget has the next who asks for a key begin anew, if what is remembered is so.
func (m *Memo[K, V]) Forget(key K, so func(V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.entries[key]; ok && so(known.Value.(outcome[K, V]).value) {
		m.forget(known)
	}
}

// ForgetAll forgets what is remembered for all keys that are so.
func (m *Memo[K, V]) ForgetAll(so func(K) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, known := range m.entries {
		if so(key) {
			m.forget(known)
		}
	}
}

func (m *Memo[K, V]) weighed(o outcome[K, V]) outcome[K, V] {
	switch {
	case m.weigh == nil:
	case o.err != nil:
		o.weight = besides + int64(len(o.err.Error()))
	default:
		o.weight = besides + m.weigh(o.value)
	}
	return o
}

// remember is for who holds mu.
func (m *Memo[K, V]) remember(o outcome[K, V]) {
	if known, ok := m.entries[o.key]; ok {
		m.forget(known)
	}
	if m.weigh != nil && o.weight > m.most {
		return
	}
	m.weight += o.weight
	m.entries[o.key] = m.recent.PushFront(o)
	for m.recent.Len() > m.limit || m.weight > m.most && m.weigh != nil {
		m.forget(m.recent.Back())
	}
}

// forget is for who holds mu.
func (m *Memo[K, V]) forget(element *list.Element) {
	o := m.recent.Remove(element).(outcome[K, V])
	m.weight -= o.weight
	delete(m.entries, o.key)
}

func (m *Memo[K, V]) fly(ctx context.Context, key K, f *flight[K, V], work func(context.Context) (V, error)) {
	f.outcome.key = key
	f.outcome.value, f.outcome.err = Guarded(ctx, work)
	f.outcome = m.weighed(f.outcome)

	m.mu.Lock()
	defer m.mu.Unlock()
	m.land(key, f)
	// Work that was left to nobody may have failed for that.
	if f.outcome.err == nil || f.callers > 0 && m.keep(f.outcome.err) {
		m.remember(f.outcome)
	}
	close(f.done)
}

// Guarded does work whose panic is an error.
func Guarded[V any](ctx context.Context, work func(context.Context) (V, error)) (value V, err error) {
	defer func() {
		if p := recover(); p != nil {
			// The panic's own text may show values of Secrets; where it came from does not.
			klog.FromContext(ctx).Error(nil, "Rendering panicked", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error: panic of type %T", p)
		}
	}()
	return work(ctx)
}
