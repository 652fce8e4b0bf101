// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// Runnable is a part of a process: it works until ctx ends, ends its work and returns.
type Runnable struct {
	Name string
	Run  func(ctx context.Context) error
}

// RunAll runs all parts until ctx ends or one of them returns, and then waits for the
// others, no longer than grace. It returns the first error of a part; a part that ends by
// itself before it should is one.
func RunAll(ctx context.Context, grace time.Duration, parts ...Runnable) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	for _, part := range parts {
		wait.Go(func() {
			err := part.Run(ctx)
			if ctx.Err() == nil && err == nil {
				err = errors.New("ended by itself")
			}
			if err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", part.Name, err))
			}
			klog.FromContext(ctx).V(2).Info("part ended", "part", part.Name, "err", err)
		})
	}
	<-ctx.Done()
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(grace):
		return fmt.Errorf("work under way did not end within %s", grace)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}
