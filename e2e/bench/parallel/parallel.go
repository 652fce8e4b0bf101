// SPDX-License-Identifier: Apache-2.0

// Package parallel does the same work many times at once.
package parallel

import (
	"context"
	"sync"
	"sync/atomic"
)

// Do calls do for 0 … count-1, so many at once. The first error ends it and is given.
func Do(ctx context.Context, atOnce, count int, do func(ctx context.Context, n int) error) error {
	return DoWith(ctx, atOnce, count, func() struct{} { return struct{}{} }, func(ctx context.Context, _ struct{}, n int) error { return do(ctx, n) })
}

// DoWith is Do for work that needs something of its own in each of those that run at once,
// which make makes.
func DoWith[T any](ctx context.Context, atOnce, count int, make func() T, do func(ctx context.Context, own T, n int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range atOnce {
		own := make()
		group.Go(func() {
			for n := int(next.Add(1)) - 1; n < count && ctx.Err() == nil; n = int(next.Add(1)) - 1 {
				if err := do(ctx, own, n); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}
