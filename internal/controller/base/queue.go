// SPDX-License-Identifier: Apache-2.0

package base

import (
	"container/heap"
	"container/list"
	"context"
	"sync"
	"time"
)

// entry is one key that waits, is in work, or has a timer.
type entry[K comparable] struct {
	key      K
	group    string
	priority Priority // of its place in line, later of the reconcile

	place *list.Element // in the line of its group; nil when it does not wait
	since time.Time     // when it began to wait

	finished      chan struct{} // not nil while in work; closed at the end of it
	cancel        context.CancelCauseFunc
	again         bool // was enqueued while in work
	againPriority Priority

	due         time.Time // of its timer
	duePriority Priority
	timer       int // place in the heap of timers; -1: no timer

	restsUntil time.Time

	failures, conflicts int // in a row; belong to the worker while in work
}

func (e *entry[K]) waits() bool  { return e.place != nil }
func (e *entry[K]) inWork() bool { return e.finished != nil }
func (e *entry[K]) timed() bool  { return e.timer >= 0 }

// queue is the state of all keys. An entry lives as long as its key waits, is in work or
// has a timer, so an idle key costs nothing.
type queue[K comparable] struct {
	mu      sync.Mutex
	ready   *sync.Cond // a key may have become fit to be worked on
	entries map[K]*entry[K]
	lines   [priorities]line[K]
	timers  timers[K]
	busy    map[string]int // keys in work, by group
	stopped bool

	rearm chan struct{} // the earliest timer may have changed
	stop  chan struct{}

	o       *Options[K]
	metrics *metrics
}

func newQueue[K comparable](o *Options[K], m *metrics) *queue[K] {
	q := &queue[K]{
		entries: map[K]*entry[K]{},
		busy:    map[string]int{},
		rearm:   make(chan struct{}, 1),
		stop:    make(chan struct{}),
		o:       o,
		metrics: m,
	}
	q.ready = sync.NewCond(&q.mu)
	for p := range q.lines {
		q.lines[p] = newLine[K]()
	}
	return q
}

// add has the key worked on with at least this priority.
func (q *queue[K]) add(key K, p Priority) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.stopped && q.o.Owned(key) {
		q.enter(q.entry(key), p)
	}
}

// addAfter adds the key when d is over.
func (q *queue[K]) addAfter(key K, d time.Duration, p Priority) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.stopped && q.o.Owned(key) {
		q.schedule(q.entry(key), d, p)
	}
}

// next waits for a key that may be worked on and takes it. The returned context is that of
// the work on it. ok is false when the queue was shut down.
func (q *queue[K]) next(ctx context.Context) (e *entry[K], work context.Context, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if q.stopped {
			return nil, nil, false
		}
		e := q.first()
		if e == nil {
			q.ready.Wait()
			continue
		}
		q.leaveLine(e)
		if !q.o.Owned(e.key) {
			q.forget(e)
			continue
		}
		q.metrics.waited(e.priority, q.o.Clock.Since(e.since))
		q.unschedule(e)
		q.busy[e.group]++
		e.finished = make(chan struct{})
		work, e.cancel = context.WithCancelCause(ctx)
		return e, work, true
	}
}

// finish ends the work on a key. The caller asks for the next key itself, so it is the one
// to see that the group may have one more in work; nobody else need be woken.
func (q *queue[K]) finish(e *entry[K], n next, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if rest := time.Duration(q.o.Rest * float64(took)); rest >= minRest {
		e.restsUntil = q.o.Clock.Now().Add(min(rest, maxRest))
	}
	e.cancel(nil)
	close(e.finished)
	e.finished, e.cancel = nil, nil
	if q.busy[e.group]--; q.busy[e.group] == 0 {
		delete(q.busy, e.group)
	}
	again := e.again
	e.again = false
	switch {
	case q.stopped || !q.o.Owned(e.key):
		q.forget(e)
	case again:
		q.enter(e, e.againPriority)
	case n.requeue:
		q.schedule(e, n.delay, n.priority)
	case !e.timed():
		q.forget(e)
	}
}

// dropUnowned forgets the keys that are not owned and cuts the work on them off. It returns
// a channel for each one in work, which closes at the end of it.
func (q *queue[K]) dropUnowned() []<-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	var inWork []<-chan struct{}
	for key, e := range q.entries {
		switch {
		case q.o.Owned(key):
		case e.inWork():
			e.again = false
			q.unschedule(e)
			e.cancel(ErrUnowned)
			inWork = append(inWork, e.finished)
		default:
			q.leaveLine(e)
			q.forget(e)
		}
	}
	return inWork
}

// shutDown lets no key be taken any more.
func (q *queue[K]) shutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return
	}
	q.stopped = true
	close(q.stop)
	q.ready.Broadcast()
}

// runTimers moves keys whose time has come into line, until the shutdown.
func (q *queue[K]) runTimers() {
	for {
		wait, armed := q.fire()
		var alarm <-chan time.Time
		stopAlarm := func() bool { return false }
		if armed {
			timer := q.o.Clock.NewTimer(wait)
			alarm, stopAlarm = timer.C(), timer.Stop
		}
		select {
		case <-alarm:
		case <-q.rearm:
		case <-q.stop:
			stopAlarm()
			return
		}
		stopAlarm()
	}
}

// fire enters the keys that are due; it returns the time until the next one is.
func (q *queue[K]) fire() (wait time.Duration, armed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.o.Clock.Now()
	for len(q.timers) > 0 && !q.stopped {
		e := q.timers[0]
		if wait := e.due.Sub(now); wait > 0 {
			return wait, true
		}
		q.unschedule(e)
		if q.o.Owned(e.key) {
			q.enter(e, e.duePriority)
		} else if !e.waits() && !e.inWork() {
			q.forget(e)
		}
	}
	return 0, false
}

// The methods below are called with the lock held.

// entry returns the entry of a key, a new one if need be.
func (q *queue[K]) entry(key K) *entry[K] {
	e := q.entries[key]
	if e == nil {
		e = &entry[K]{key: key, timer: -1}
		q.entries[key] = e
	}
	return e
}

// forget does away with an entry that does not wait and is not in work.
func (q *queue[K]) forget(e *entry[K]) {
	q.unschedule(e)
	delete(q.entries, e.key)
}

// enter puts a key into line, promotes it, or notes that it is to come again.
func (q *queue[K]) enter(e *entry[K], p Priority) {
	p = min(max(p, PriorityResync), PriorityRequest)
	switch {
	case e.inWork():
		if !e.again || p > e.againPriority {
			e.again, e.againPriority = true, p
		}
		return
	case !e.waits():
		now := q.o.Clock.Now()
		if rest := e.restsUntil.Sub(now); rest > 0 && p < PriorityRequest {
			q.schedule(e, rest, p)
			return
		}
		e.since = now
	case p > e.priority:
		q.leaveLine(e)
	default:
		return
	}
	e.priority, e.group = p, q.o.GroupOf(e.key)
	e.place = q.lines[p].push(e)
	q.metrics.depth(p, 1)
	q.ready.Signal()
}

// leaveLine takes a key out of line, if it is in one.
func (q *queue[K]) leaveLine(e *entry[K]) {
	if !e.waits() {
		return
	}
	q.lines[e.priority].remove(e)
	e.place = nil
	q.metrics.depth(e.priority, -1)
}

// first is the key whose turn it is, nil if there is none that may be worked on.
func (q *queue[K]) first() *entry[K] {
	for p := priorities - 1; p >= 0; p-- {
		if e := q.lines[p].first(q.mayWork); e != nil {
			return e
		}
	}
	return nil
}

func (q *queue[K]) mayWork(group string) bool {
	return q.o.GroupLimit <= 0 || q.busy[group] < q.o.GroupLimit
}

// schedule sets the timer of a key. The earlier of two stands, with the higher priority.
func (q *queue[K]) schedule(e *entry[K], d time.Duration, p Priority) {
	if d <= 0 {
		q.enter(e, p)
		return
	}
	due := q.o.Clock.Now().Add(d)
	if !e.timed() {
		e.due, e.duePriority = due, p
		heap.Push(&q.timers, e)
	} else {
		e.duePriority = max(e.duePriority, p)
		if !due.Before(e.due) {
			return
		}
		e.due = due
		heap.Fix(&q.timers, e.timer)
	}
	if e.timer == 0 {
		select {
		case q.rearm <- struct{}{}:
		default:
		}
	}
}

// unschedule takes the timer of a key away, if it has one.
func (q *queue[K]) unschedule(e *entry[K]) {
	if e.timed() {
		heap.Remove(&q.timers, e.timer)
	}
}
