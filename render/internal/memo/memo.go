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

	mu      sync.Mutex
	entries map[K]*list.Element
	recent  *list.List // of outcome, most recently used first
	flights map[K]*flight[K, V]
}

type outcome[K comparable, V any] struct {
	key   K
	value V
	err   error
}

// flight is work under way; outcome is set once done is closed.
type flight[K comparable, V any] struct {
	done    chan struct{}
	outcome outcome[K, V]
}

// New makes a Memo of at most limit outcomes. Failures for which keep is true are
// remembered like values; the others are tried again by the next who asks.
func New[K comparable, V any](limit int, keep func(error) bool) *Memo[K, V] {
	return &Memo[K, V]{
		limit: limit, keep: keep,
		entries: map[K]*list.Element{}, recent: list.New(), flights: map[K]*flight[K, V]{},
	}
}

// Do gives the outcome of work for a key; known tells that it was remembered. Work goes on
// when the context of a caller ends, for the others and for the next time; that caller
// gets the context's error. A panic of work is an error.
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
		go m.fly(context.WithoutCancel(ctx), key, f, work)
	}
	m.mu.Unlock()

	select {
	case <-f.done:
		return f.outcome.value, false, f.outcome.err
	case <-ctx.Done():
		return value, false, ctx.Err()
	}
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
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remember(outcome[K, V]{key: key, value: value})
}

// remember is for who holds mu.
func (m *Memo[K, V]) remember(o outcome[K, V]) {
	if known, ok := m.entries[o.key]; ok {
		m.recent.Remove(known)
	}
	m.entries[o.key] = m.recent.PushFront(o)
	for m.recent.Len() > m.limit {
		last := m.recent.Remove(m.recent.Back()).(outcome[K, V])
		delete(m.entries, last.key)
	}
}

func (m *Memo[K, V]) fly(ctx context.Context, key K, f *flight[K, V], work func(context.Context) (V, error)) {
	f.outcome.key = key
	f.outcome.value, f.outcome.err = Guarded(ctx, work)

	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.flights, key)
	if f.outcome.err == nil || m.keep(f.outcome.err) {
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
