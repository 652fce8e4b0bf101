// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"
)

// limit ends a request that takes too long.
type limit struct {
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// bounded gives the context of a request that moves so many bytes. The limit must be ended.
func (s *Store) bounded(ctx context.Context, bytes int64) (context.Context, limit) {
	bounded, cancel := context.WithCancelCause(ctx)
	after := s.allowance(bytes)
	return bounded, limit{cancel: cancel, timer: time.AfterFunc(after, func() { cancel(errSlow{s.options.Patience}) })}
}

func (l limit) end() {
	l.timer.Stop()
	l.cancel(nil)
}

// allowance is how long a request may take that moves so many bytes.
func (s *Store) allowance(bytes int64) time.Duration {
	return s.options.Patience + time.Duration(bytes>>20)*time.Second
}

// errSlow is why the context of a request ended that took too long.
type errSlow struct{ patience time.Duration }

func (e errSlow) Error() string {
	return "it did not answer within " + e.patience.String() + ", and a second more for each MiB"
}

func (e errSlow) Unwrap() error { return context.DeadlineExceeded }
