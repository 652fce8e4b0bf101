// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/budget"
	"kumodo.io/convoy/fetch/internal/fault"
)

// operation is how one call reaches its source. It is a backend.Ops.
type operation struct {
	coordinator *Coordinator
	target      *target
	demand      demand
	// anyAge takes every answer that suffices, however old. Failures, and answers that do
	// not suffice, are held to the demand all the same.
	anyAge bool
	// unusable says that what the last Do brought is unusable. An answer to a question that
	// is, such as an index, is another matter: it can be another one soon.
	unusable bool

	mu     sync.Mutex
	oldest time.Time
}

func (c *Coordinator) operation(t *target, d demand) *operation {
	return &operation{coordinator: c, target: t, demand: d}
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
	c, key, d := o.coordinator, o.key(q.Key), o.demand
	for {
		if kept, ok := c.answers.recall(key); ok && o.suffices(kept, q, d) {
			c.hits.Add(1)
			o.used(kept.at)
			return kept.value, kept.err
		}
		if failure, ok := c.heldOff(o.target, d); ok {
			c.hits.Add(1)
			o.used(failure.at)
			return nil, failure.err
		}
		got, shared, err := c.asks.do(ctx, key, func(ctx context.Context) (answer, error) {
			kept, ok := c.answers.recall(key)
			if ok && o.suffices(kept, q, d) {
				// Between the look above and here another flight has landed.
				return kept, nil
			}
			return o.ask(ctx, q, key, kept)
		})
		if shared {
			c.shared.Add(1)
		}
		if err != nil {
			return nil, err
		}
		// What was under way already may have been asked too early for this call.
		if d.waited = true; !shared || d.met(got) {
			o.used(got.at)
			return got.value, got.err
		}
	}
}

// ask asks the source and remembers what it says, failures too. The error is that of a
// caller who left.
func (o *operation) ask(ctx context.Context, q backend.Question, key string, previous answer) (answer, error) {
	c := o.coordinator
	o.target.counts.questions.Add(1)
	asked := c.options.Clock.Now()
	fresh := answer{at: asked, asked: asked}
	err := o.holding(ctx, func(ctx context.Context) error {
		return o.run(ctx, func(ctx context.Context) error {
			a, err := q.Ask(ctx, previous.value)
			fresh.value, fresh.size = a.Value, a.Size
			return err
		})
	})
	if ctx.Err() != nil {
		return answer{}, fault.FromRequest(ctx.Err(), nil)
	}
	now := c.options.Clock.Now()
	if err != nil {
		// The last good answer is kept for asking whether it has changed.
		fresh = answer{err: err, at: now, asked: asked, value: previous.value, size: previous.size}
	}
	fresh.until = now.Add(failureAge)
	c.answers.keep(key, fresh)
	return fresh, nil
}

// suffices says whether a remembered answer, or failure, will do.
func (o *operation) suffices(kept answer, q backend.Question, d demand) bool {
	if kept.err == nil && (o.anyAge || d.met(kept)) && (q.Accept == nil || q.Accept(kept.value)) {
		return true
	}
	return d.bears(kept, o.coordinator.options.Clock.Now())
}

// Do runs one network operation whose result is content.
func (o *operation) Do(ctx context.Context, do func(ctx context.Context) error) error {
	giveBack := budget.Mark(ctx)
	err := o.run(ctx, do)
	if err != nil {
		giveBack()
	}
	o.unusable = isContent(err)
	return err
}

// holding does work that holds what it takes in until it is done. For room in memory it waits in
// all for as long as one operation may take besides, and for as long as a turn of others takes.
func (o *operation) holding(ctx context.Context, work func(ctx context.Context) error) error {
	t := o.target
	held, hold := o.coordinator.taken.Open(ctx, t.tenant, t.host, max(t.timeout, budget.Patience))
	defer hold.Close()
	err := work(held)
	if err != nil && held.Err() != nil && ctx.Err() == nil {
		err, o.unusable = context.Cause(held), false
		t.counts.failed(err)
	}
	return err
}

// run runs one network operation within the bounds of concurrency and time, and counts it.
func (o *operation) run(ctx context.Context, do func(ctx context.Context) error) error {
	c, t := o.coordinator, o.target
	hold := budget.Of(ctx)
	slot := c.slots.slot(t.tenant, t.host)
	slot.holdsMemory = hold.Counts()
	if err := slot.acquire(ctx); err != nil {
		return fault.FromRequest(err, nil)
	}
	defer slot.release()
	began := c.options.Clock.Now()
	timed, limit := within(ctx, t.timeout)
	defer limit.stop()
	slot.blocked = func() (ended func()) { return both(limit.wait(), hold.Pause()) }
	timed = budget.WithWaiting(timed, func() (ended func()) {
		goOn, back := limit.wait(), slot.yield(timed)
		return both(back, goOn)
	})
	var answered atomic.Bool
	watch := access.NewWatch(t.host, func(bytes int) {
		answered.Store(true)
		t.counts.received.Add(int64(bytes))
		hold.Received(bytes)
		slot.received(timed, bytes)
	}, func() (ended func()) { return both(slot.await(), hold.Await()) })
	err := do(access.Watched(timed, watch))
	if err != nil && timed.Err() != nil && ctx.Err() == nil {
		text := "no answer within the time limit of " + t.timeout.String()
		if answered.Load() {
			text = "the server answers, but what it sends was not received and read whole within the time limit of " + t.timeout.String() + "; raise spec.timeout"
		}
		err = fault.Rewrite(errors.Join(ErrUnreachable, context.DeadlineExceeded), text)
	}
	if ctx.Err() != nil {
		return err
	}
	c.judge(t, watch, began, o.demand)
	if err != nil {
		t.counts.failed(err)
	} else {
		hold.Answered()
	}
	return err
}

// both calls one after the other.
func both(first, second func()) func() {
	return func() {
		first()
		second()
	}
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
