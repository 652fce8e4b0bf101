// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

const (
	// missInterval is the least time between two questions about kinds that are not known,
	// and how long a refusal is taken for the answer to further ones.
	missInterval = 3 * time.Second
	// maxAge is how old what is known may get without anyone missing a kind: a cluster can
	// be upgraded behind convoy's back.
	maxAge = 10 * time.Minute
	// discoveryTimeout bounds one refresh.
	discoveryTimeout = 20 * time.Second
)

// discoveryCache holds what is known of the kinds of one cluster. A refresh is three
// requests to a server with aggregated discovery. However many callers want one at the
// same time, there is one.
type discoveryCache struct {
	client *discovery.DiscoveryClient
	clock  clock.PassiveClock

	mu       sync.Mutex
	epoch    uint64    // counts invalidations
	current  *snapshot // the last that succeeded, nil before the first
	failure  error     // the last refresh was refused with
	failedAt time.Time
	flight   *flight // refresh under way
}

// flight is a refresh that callers wait for. snapshot and err are set once done is closed.
type flight struct {
	epoch    uint64
	done     chan struct{}
	snapshot *snapshot
	err      error
}

func newDiscoveryCache(config *rest.Config, clock clock.PassiveClock) (*discoveryCache, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the discovery client: %w", err)
	}
	return &discoveryCache{client: client, clock: clock}, nil
}

// invalidate makes everything that was asked before this call too old.
func (d *discoveryCache) invalidate() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epoch++
}

// known gives a snapshot that is not too old. One that is, but cannot be had anew, is
// better than none: what a cluster serves changes seldom.
func (d *discoveryCache) known(ctx context.Context) (*snapshot, error) {
	snap, err := d.since(ctx, d.clock.Now().Add(-maxAge))
	if err == nil {
		return snap, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil {
		return d.current, nil
	}
	return nil, err
}

func (d *discoveryCache) mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	return d.find(ctx, gvk, (*snapshot).mapping)
}

func (d *discoveryCache) namespaced(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	mapping, err := d.find(ctx, gvk, (*snapshot).lastMapping)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// find looks a kind up in what is known, and on a miss in what the server says now.
func (d *discoveryCache) find(ctx context.Context, gvk schema.GroupVersionKind,
	lookUp func(*snapshot, schema.GroupVersionKind) (*meta.RESTMapping, error)) (*meta.RESTMapping, error) {
	snap, err := d.known(ctx)
	if err != nil {
		return nil, err
	}
	mapping, err := lookUp(snap, gvk)
	if err == nil {
		return mapping, nil
	}
	snap, err = d.since(ctx, d.clock.Now().Add(-missInterval))
	if err != nil {
		return nil, fmt.Errorf("looking for kind %s: %w", gvk.Kind, err)
	}
	return lookUp(snap, gvk)
}

// since gives a snapshot that was begun at or after a time and after the last
// invalidation. A refusal that is recent enough is given again instead of asking.
func (d *discoveryCache) since(ctx context.Context, oldest time.Time) (*snapshot, error) {
	d.mu.Lock()
	if d.current != nil && d.current.epoch == d.epoch && !d.current.begun.Before(oldest) {
		defer d.mu.Unlock()
		return d.current, nil
	}
	if d.failure != nil && d.clock.Since(d.failedAt) < missInterval {
		defer d.mu.Unlock()
		return nil, d.failure
	}
	d.mu.Unlock()
	return d.refresh(ctx)
}

// refresh asks the server, or waits for a refresh that asks it already, and gives the
// result. A refresh that began before the last invalidation does not count.
func (d *discoveryCache) refresh(ctx context.Context) (*snapshot, error) {
	for {
		d.mu.Lock()
		wanted := d.epoch
		if d.flight == nil {
			d.flight = &flight{epoch: wanted, done: make(chan struct{})}
			// The refresh serves others too, and must not end with this caller.
			go d.fly(context.WithoutCancel(ctx), d.flight)
		}
		joined := d.flight
		d.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, Classify(ctx.Err())
		case <-joined.done:
		}
		if joined.err != nil || joined.epoch >= wanted {
			return joined.snapshot, joined.err
		}
	}
}

func (d *discoveryCache) fly(ctx context.Context, f *flight) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	begun := d.clock.Now()
	snap, err := d.discover(ctx)

	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case errors.Is(err, ErrUnreachable):
		// An outage keeps everybody from asking, and when it ends nothing must fail any more.
		d.failure = nil
	case err != nil:
		d.failure, d.failedAt = err, d.clock.Now()
	default:
		snap.begun, snap.epoch = begun, f.epoch
		snap.keep(d.current)
		d.current, d.failure = snap, nil
	}
	f.snapshot, f.err = snap, err
	d.flight = nil
	close(f.done)
}

// discover asks the server for its version and its kinds.
func (d *discoveryCache) discover(ctx context.Context) (*snapshot, error) {
	begun := d.clock.Now()
	version, err := d.client.ServerVersionWithContext(ctx)
	if err != nil {
		return nil, discoveryError(err)
	}
	latency := d.clock.Since(begun)
	groups, lists, err := discovery.ServerGroupsAndResourcesWithContext(ctx, d.client)
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partial {
		return nil, discoveryError(err)
	}
	if err := lost(ctx, failed); err != nil {
		return nil, discoveryError(err)
	}
	snap := newSnapshot(version.GitVersion, groups, lists, failed)
	snap.latency = latency
	return snap, nil
}

// lost gives the error with which the server was lost while its groups were asked for, one
// by one: those that were left then count as failed, but that is not an answer.
func lost(ctx context.Context, failed map[schema.GroupVersion]error) error {
	for _, err := range failed {
		if failedOnTheWay(err) {
			return err
		}
	}
	return ctx.Err()
}

// discoveryError classifies the error of a request that every API server answers: what
// answers it otherwise is none.
func discoveryError(err error) error {
	err = Classify(err)
	if classified(err) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: it does not answer as a Kubernetes API server does: %w", ErrUnreachable, err)
}
