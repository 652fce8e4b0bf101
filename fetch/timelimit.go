// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"sync"
	"time"
)

// timeLimit is how long an operation may take, not counting the time in which it waits for others
// of this process: no source can be blamed for that.
type timeLimit struct {
	end context.CancelFunc

	mu    sync.Mutex
	timer *time.Timer // stopped while others are waited for
	since time.Time   // when it went on last
	left  time.Duration
	waits int
}

// within returns a context that ends after limit, and that limit, which has to be ended. The clock
// is not that of the options: this one has to expire in real time.
func within(ctx context.Context, limit time.Duration) (context.Context, *timeLimit) {
	timed, end := context.WithCancel(ctx)
	return timed, &timeLimit{end: end, timer: time.AfterFunc(limit, end), since: time.Now(), left: limit}
}

// wait stops the time until what it returns is called.
func (l *timeLimit) wait() (ended func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits++; l.waits == 1 && l.timer.Stop() {
		l.left -= time.Since(l.since)
	}
	return l.goOn
}

func (l *timeLimit) goOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits--; l.waits == 0 {
		l.since = time.Now()
		l.timer.Reset(max(0, l.left))
	}
}

// stop ends the context.
func (l *timeLimit) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits++ // no timer is left behind
	l.timer.Stop()
	l.end()
}
