// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// A conflict means that the informer has not caught up yet, so the key is retried almost at
// once; the delay still grows, lest a conflict without end keeps a worker busy.
const (
	initialConflictDelay = 10 * time.Millisecond
	maxConflictDelay     = time.Second
)

// outcomes of a reconcile, as in the metrics.
const (
	outcomeSuccess   = "success"
	outcomeRequeue   = "requeue_after"
	outcomeConflict  = "conflict"
	outcomeTerminal  = "terminal"
	outcomeError     = "error"
	outcomePanic     = "panic"
	outcomeCancelled = "cancelled"
)

// next is what follows a reconcile.
type next struct {
	outcome  string
	requeue  bool // after delay, with priority
	delay    time.Duration
	priority Priority
}

// work reconciles one key; false when the queue was shut down.
func (c *Controller[K]) work(ctx context.Context) bool {
	e, ctx, ok := c.queue.next(ctx)
	if !ok {
		return false
	}
	logger := klog.LoggerWithValues(klog.FromContext(ctx), c.o.KeyLog(e.key)...)
	ctx = klog.NewContext(ctx, logger)

	start := c.o.Clock.Now()
	result, err := c.reconcile(ctx, e.key)
	end := c.o.Clock.Now()

	n := c.judge(ctx, e, result, err)
	c.metrics.reconciled(n.outcome, end.Sub(start), end)
	c.queue.finish(e, n, end.Sub(start))
	return true
}

// reconcile calls the reconciler and makes an error of a panic.
func (c *Controller[K]) reconcile(ctx context.Context, key K) (result Result, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value: value, stack: debug.Stack()}
		}
	}()
	return c.o.Reconciler.Reconcile(ctx, key)
}

// judge logs the error of a reconcile and says what follows. While the key is in work its
// counters belong to the worker.
func (c *Controller[K]) judge(ctx context.Context, e *entry[K], result Result, err error) next {
	logger := klog.FromContext(ctx)
	panicked, isPanic := errors.AsType[*panicError](err)
	switch {
	case isPanic:
		n := c.failed(e, outcomePanic)
		logger.Error(err, "Reconciler panicked", "retryAfter", n.delay, "stack", string(panicked.stack))
		return n
	case err != nil && ctx.Err() != nil:
		logger.V(2).Info("Reconcile was cut off", "cause", context.Cause(ctx))
		return next{outcome: outcomeCancelled}
	case err == nil:
		e.failures, e.conflicts = 0, 0
		return after(outcomeSuccess, result)
	case IsTerminal(err):
		e.failures, e.conflicts = 0, 0
		logger.Error(err, "Reconcile failed, a retry would change nothing")
		return after(outcomeTerminal, result)
	case apierrors.IsConflict(err):
		e.conflicts++
		delay := exponential(initialConflictDelay, maxConflictDelay, e.conflicts)
		logger.V(4).Info("Reconcile met a conflict", "retryAfter", delay, "err", err)
		return next{outcome: outcomeConflict, requeue: true, delay: delay, priority: e.priority}
	default:
		n := c.failed(e, outcomeError)
		logger.Error(err, "Reconcile failed", "retryAfter", n.delay, "failures", e.failures)
		return n
	}
}

// after is the timer that a result asks for, if any.
func after(outcome string, result Result) next {
	if result.RequeueAfter <= 0 {
		return next{outcome: outcome}
	}
	if outcome == outcomeSuccess {
		outcome = outcomeRequeue
	}
	return next{outcome: outcome, requeue: true, delay: result.RequeueAfter, priority: result.Priority}
}

// failed counts a failure and backs off. A retry is nobody's request any more.
func (c *Controller[K]) failed(e *entry[K], outcome string) next {
	e.failures++
	initial, limit := c.o.InitialBackoff, c.o.MaxBackoff
	if c.o.Backoff != nil {
		own, ownLimit := c.o.Backoff(e.key)
		if own > 0 {
			initial = own
		}
		if ownLimit > 0 {
			limit = ownLimit
		}
	}
	delay := exponential(initial, limit, e.failures)
	return next{outcome: outcome, requeue: true, delay: delay, priority: min(e.priority, PriorityChange)}
}

// exponential is initial doubled for each try after the first, at most limit.
func exponential(initial, limit time.Duration, tries int) time.Duration {
	delay := initial
	for range tries - 1 {
		if delay >= limit/2 {
			return limit
		}
		delay *= 2
	}
	return min(delay, limit)
}
