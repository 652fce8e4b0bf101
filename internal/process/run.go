// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

// Runnable is a part of a process: it works until ctx ends, ends its work and returns.
type Runnable struct {
	Name string
	Run  func(ctx context.Context) error
}

// RunAll runs all parts until ctx ends or one of them returns, and then waits for the
// others, no longer than grace. Its error holds that of every part that failed, and the
// names of those that did not end in time. A part that ends by itself before it should has
// failed; an error that says no more than that ctx ended is none.
func RunAll(ctx context.Context, grace time.Duration, parts ...Runnable) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type end struct {
		part int
		err  error
	}
	ends := make(chan end, len(parts))
	running := map[int]string{}
	for i, part := range parts {
		running[i] = part.Name
		go func() { ends <- end{part: i, err: run(ctx, part)} }()
	}
	var errs []error
	var late <-chan time.Time
	told := ctx.Done()
	for len(running) > 0 {
		select {
		case e := <-ends:
			delete(running, e.part)
			if e.err != nil {
				errs = append(errs, e.err)
			}
			cancel()
		case <-told:
			told = nil
			timer := time.NewTimer(grace)
			defer timer.Stop()
			late = timer.C
		case <-late:
			names := strings.Join(slices.Sorted(maps.Values(running)), ", ")
			return errors.Join(append(errs, fmt.Errorf("work under way did not end within %s: %s", grace, names))...)
		}
	}
	return errors.Join(errs...)
}

// run runs one part and says how it failed.
func run(ctx context.Context, part Runnable) error {
	err := part.Run(ctx)
	told := ctx.Err() != nil
	switch {
	case told && errors.Is(err, context.Canceled):
		err = nil
	case !told && err == nil:
		err = errors.New("ended by itself")
	}
	klog.FromContext(ctx).V(2).Info("part ended", "part", part.Name, "err", err)
	if err != nil {
		return fmt.Errorf("%s: %w", part.Name, err)
	}
	return nil
}
