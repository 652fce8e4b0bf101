// SPDX-License-Identifier: Apache-2.0

// Package expiring keeps values that end at a time of their own, such as tokens.
package expiring

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Cache keeps values until they end. It is safe for concurrent use.
type Cache[V any] struct {
	now func() time.Time

	mu   sync.Mutex
	kept map[string]*entry[V]
}

type entry[V any] struct {
	// turn is held by who makes the value, so that one makes it for all.
	turn  chan struct{}
	value V
	until time.Time
	// forgotten says that the value is to be made anew, whoever has the turn.
	forgotten atomic.Bool
}

// New returns an empty Cache; now tells the time.
func New[V any](now func() time.Time) *Cache[V] {
	return &Cache[V]{now: now, kept: map[string]*entry[V]{}}
}

// Get returns the value of a key. What has ended, or was never made, is made, which also
// says until when the value can be used; others who want it wait meanwhile. The error is
// that of making it, or the context's.
func (c *Cache[V]) Get(ctx context.Context, key string, make func(ctx context.Context) (V, time.Time, error)) (V, error) {
	e := c.entry(key)
	var none V
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if e.forgotten.Swap(false) || !c.now().Before(e.until) {
		value, until, err := make(ctx)
		if err != nil {
			e.until = time.Time{} // it may be one that was forgotten
			return none, err
		}
		e.value, e.until = value, until
	}
	return e.value, nil
}

// Forget drops the value of a key. It waits for nobody.
func (c *Cache[V]) Forget(key string) { c.entry(key).forgotten.Store(true) }

// entry returns the place of a value. Whenever there is a new one, those that have ended go.
func (c *Cache[V]) entry(key string) *entry[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.kept[key]
	if !ok {
		c.sweep()
		e = &entry[V]{turn: make(chan struct{}, 1)}
		c.kept[key] = e
	}
	return e
}

func (c *Cache[V]) sweep() {
	now := c.now()
	for key, e := range c.kept {
		select {
		case e.turn <- struct{}{}:
			if !now.Before(e.until) {
				delete(c.kept, key)
			}
			<-e.turn
		default:
		}
	}
}
