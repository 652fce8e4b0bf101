// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"time"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/fault"
)

const (
	// maxBackoff bounds how long a host that takes no requests is left alone.
	maxBackoff = 5 * time.Minute
	// maxRetryAfter is the same where the host says itself how long.
	maxRetryAfter = 10 * time.Minute
)

// route is how a host is reached: whether it takes requests can depend on who asks, and one
// who comes through a proxy of its own must not speak for the others.
func (t *target) route() string { return "host/" + t.host + "/" + t.access.Digest() }

// heldOff returns the failure of a host that is left alone for a while, if the caller is to
// be given that.
func (c *Coordinator) heldOff(t *target, d demand) (answer, bool) {
	failure, failed := c.failures.recall(t.route())
	return failure, failed && d.bears(failure, c.options.Clock.Now())
}

// judge learns from an operation that began at a time whether its host takes requests. The
// time until it is asked again doubles from failure to failure; those of operations that ran
// at once count as one.
func (c *Coordinator) judge(t *target, w *access.Watch, began time.Time, d demand) {
	why, wait := w.TurnedAway()
	if why == "" {
		if w.Answered() {
			c.failures.forget(t.route())
		}
		return
	}
	last, failed := c.failures.recall(t.route())
	if failed && began.Before(last.at) {
		return
	}
	times, _ := last.value.(int)
	backoff := min(failureAge<<min(times, 10), maxBackoff)
	now := c.options.Clock.Now()
	err := fault.New(ErrUnreachable, "the host %s takes no requests now: %s; it is left alone for a while", t.host, why)
	c.failures.keep(t.route(), answer{
		value: times + 1, err: err, host: true, at: now, asked: d.made,
		until: now.Add(max(backoff, min(wait, maxRetryAfter))), size: int64(len(err.Error())) + 200,
	})
}
