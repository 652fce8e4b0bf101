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
	// most is what all values may weigh.
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
	// weight of the value, if values are weighed.
	weight int64
}

// flight is work under way; outcome is set once done is closed.
type flight[K comparable, V any] struct {
	done    chan struct{}
	outcome outcome[K, V]
	// callers wait for it; end ends its context. callers is guarded by the Memo's mu.
	callers int
	end     context.CancelFunc
}

// New makes a Memo of at most limit outcomes. Failures for which keep is true are
// remembered like values; the others are tried again by the next who asks.
func New[K comparable, V any](limit int, keep func(error) bool) *Memo[K, V] {
	return &Memo[K, V]{
		limit: limit, keep: keep,
		entries: map[K]*list.Element{}, recent: list.New(), flights: map[K]*flight[K, V]{},
	}
}

// Weigh bounds what all remembered values weigh together; one that weighs more is not
// remembered. It is called before any other method, and gives the Memo.
func (m *Memo[K, V]) Weigh(most int64, weigh func(V) int64) *Memo[K, V] {
	m.most, m.weigh = most, weigh
	return m
}

// Do gives the outcome of work for a key; known tells that it was remembered. When the context
// of a caller ends, that caller gets the context's error, and work goes on for the others; when
// nobody is left, the context of work ends, and the next who asks begins anew. A panic of work
// is an error.
func (m *Memo[K, V]) Do(ctx context.Context, key K, work func(context.Context) (V, error)) (value V, known bool, err error) {
	m.mu.Lock()
	if element, ok := m.entries[key]; ok {
		m.recent.MoveToFront(element)
		m.mu.Unlock()
		o := element.Value.(outcome[K, V])
		return o.value, true, o.err
	}
	f, ok := m.flights[key]
	if !ok {
		f = &flight[K, V]{done: make(chan struct{})}
		m.flights[key] = f
		var working context.Context
		working, f.end = context.WithCancel(context.WithoutCancel(ctx))
		go m.fly(working, key, f, work)
	}
	f.callers++
	m.mu.Unlock()

	select {
	case <-f.done:
		return f.outcome.value, false, f.outcome.err
	case <-ctx.Done():
		m.leave(key, f)
		return value, false, ctx.Err()
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
	element, ok := m.entries[key]
	if !ok {
		return value, false
	}
	m.recent.MoveToFront(element)
	o := element.Value.(outcome[K, V])
	return o.value, o.err == nil
}

// Put remembers a value for a key.
func (m *Memo[K, V]) Put(key K, value V) {
	o := m.weighed(outcome[K, V]{key: key, value: value})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remember(o)
}

func (m *Memo[K, V]) weighed(o outcome[K, V]) outcome[K, V] {
	if m.weigh != nil && o.err == nil {
		o.weight = m.weigh(o.value)
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
