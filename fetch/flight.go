// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"k8s.io/klog/v2"

	"kumodo.io/convoy/fetch/internal/fault"
)

// flights lets those who want the same thing at the same time wait for one who gets it.
// Whoever waits may leave; the work ends early only when all have left.
type flights[V any] struct {
	mu     sync.Mutex
	flying map[string]*flight[V]
}

type flight[V any] struct {
	landed  chan struct{}
	cancel  context.CancelFunc
	waiting int
	value   V
	err     error
}

// do returns the result of work for key, and whether another caller's work was shared. The
// error is the context's when the caller left first.
func (f *flights[V]) do(ctx context.Context, key string, work func(ctx context.Context) (V, error)) (value V, shared bool, err error) {
	f.mu.Lock()
	fl, shared := f.flying[key]
	if !shared {
		fl = f.start(ctx, key, work)
	}
	fl.waiting++
	f.mu.Unlock()
	select {
	case <-fl.landed:
		return fl.value, shared, fl.err
	case <-ctx.Done():
		f.leave(key, fl)
		return value, shared, fault.FromRequest(ctx.Err(), nil)
	}
}

// start begins a flight; the lock is held.
func (f *flights[V]) start(ctx context.Context, key string, work func(ctx context.Context) (V, error)) *flight[V] {
	// Whoever came first lends the values of its context, such as the logger, not its end.
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	fl := &flight[V]{landed: make(chan struct{}), cancel: cancel}
	if f.flying == nil {
		f.flying = map[string]*flight[V]{}
	}
	f.flying[key] = fl
	go func() {
		defer cancel()
		defer f.land(working, key, fl)
		fl.value, fl.err = work(working)
	}()
	return fl
}

func (f *flights[V]) land(ctx context.Context, key string, fl *flight[V]) {
	if r := recover(); r != nil {
		klog.FromContext(ctx).Error(nil, "Reading from a source panicked", "stack", string(debug.Stack()))
		fl.err = fault.New(ErrContent, "reading from the source panicked: %s", (*fault.Scrubber)(nil).Clean(fmt.Sprint(r)))
	}
	f.mu.Lock()
	f.remove(key, fl)
	f.mu.Unlock()
	close(fl.landed)
}

func (f *flights[V]) leave(key string, fl *flight[V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl.waiting--; fl.waiting == 0 {
		fl.cancel()
		// Who comes from now on must not share an end that is not theirs.
		f.remove(key, fl)
	}
}

func (f *flights[V]) remove(key string, fl *flight[V]) {
	if f.flying[key] == fl {
		delete(f.flying, key)
	}
}

// waiting counts those who wait.
func (f *flights[V]) waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, fl := range f.flying {
		n += fl.waiting
	}
	return n
}
