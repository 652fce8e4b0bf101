// SPDX-License-Identifier: Apache-2.0

// Package poll repeats a check until it passes. It is for programs and for the
// framework itself; a Ginkgo test writes Eventually.
package poll

import (
	"context"
	"fmt"
	"time"
)

// Until calls check at once and then at every interval until it returns nil.
// When ctx ends first, the error wraps both the context's error and what the
// last check said, so a reader learns what was being waited for.
func Until(ctx context.Context, interval time.Duration, check func(context.Context) error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		// A check that the context itself cut off says nothing new.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last seen: %w", ctx.Err(), last)
		case <-ticker.C:
		}
	}
}
