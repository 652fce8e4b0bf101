// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
)

// anyAge takes every answer that suffices, however old.
const anyAge = time.Duration(math.MaxInt64)

// operation is how one call reaches its source. It is a backend.Ops.
type operation struct {
	coordinator *Coordinator
	target      *target
	maxAge      time.Duration

	mu     sync.Mutex
	oldest time.Time
}

func (c *Coordinator) operation(t *target, maxAge time.Duration) *operation {
	return &operation{coordinator: c, target: t, maxAge: maxAge}
}

// checkedAt is the time of the oldest answer that was used, or now when nothing had to be
// asked.
func (o *operation) checkedAt() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.oldest.IsZero() {
		return o.coordinator.options.Clock.Now()
	}
	return o.oldest
}

func (o *operation) used(at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.oldest.IsZero() || at.Before(o.oldest) {
		o.oldest = at
	}
}

func (o *operation) key(part string) string { return o.target.identity + "/" + part }

// Ask answers from memory or asks the source, together with all who ask the same now.
func (o *operation) Ask(ctx context.Context, q backend.Question) (any, error) {
	c, key := o.coordinator, o.key(q.Key)
	kept, ok := c.answers.recall(key)
	if ok && o.suffices(kept, q) {
		c.counters.hits.Add(1)
		o.used(kept.at)
		return kept.value, kept.err
	}
	value, shared, err := c.asks.do(ctx, key, func(ctx context.Context) (any, error) {
		c.counters.questions.Add(1)
		previous := kept.value
		fresh := answer{at: c.options.Clock.Now()}
		err := o.Do(ctx, func(ctx context.Context) error {
			a, err := q.Ask(ctx, previous)
			fresh.value, fresh.size = a.Value, a.Size
			return err
		})
		if ctx.Err() != nil {
			return nil, err
		}
		if fresh.err = err; err != nil {
			// The last good answer is kept for asking whether it has changed.
			fresh.value, fresh.size = previous, kept.size
		}
		c.answers.keep(key, fresh)
		return fresh, err
	})
	if shared {
		c.counters.shared.Add(1)
	}
	if err != nil {
		return nil, err
	}
	got := value.(answer)
	o.used(got.at)
	return got.value, nil
}

// suffices says whether a remembered answer, or failure, will do.
func (o *operation) suffices(kept answer, q backend.Question) bool {
	if o.maxAge == 0 {
		return false
	}
	age := o.coordinator.options.Clock.Since(kept.at)
	if kept.err != nil {
		return age < failureAge
	}
	if age > o.maxAge {
		return false
	}
	return age < failureAge || q.Accept == nil || q.Accept(kept.value)
}

// Do runs one network operation within the bounds of concurrency and time.
func (o *operation) Do(ctx context.Context, do func(ctx context.Context) error) error {
	release, err := o.coordinator.slots.acquire(ctx, o.target.host)
	if err != nil {
		return fault.FromRequest(err, nil)
	}
	defer release()
	// The clock is not that of the options: this one has to expire in real time.
	timed, cancel := context.WithTimeout(ctx, o.target.timeout)
	defer cancel()
	err = do(timed)
	if err != nil && timed.Err() != nil && ctx.Err() == nil {
		return fault.Rewrite(errors.Join(ErrUnreachable, context.DeadlineExceeded), "no answer within the time limit of "+o.target.timeout.String())
	}
	return err
}

// Remember keeps a fact about the source.
func (o *operation) Remember(key string, fact any) {
	o.coordinator.answers.keep(o.key(key), answer{value: fact, at: o.coordinator.options.Clock.Now(), size: 200})
}

// Recall returns a fact, or an answer, while it is kept.
func (o *operation) Recall(key string) (any, bool) {
	kept, ok := o.coordinator.answers.recall(o.key(key))
	if !ok || kept.err != nil {
		return nil, false
	}
	return kept.value, true
}
