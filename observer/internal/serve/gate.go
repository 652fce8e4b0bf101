// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// concurrentRenders bounds the answers with a render, or with the values for one, that
	// are in work at a time. Each holds what is rendered, and with it every object as it is
	// and as it would be.
	concurrentRenders = 8
	// concurrentReports bounds those that read objects one by one and keep none.
	concurrentReports = 32
)

// errBusy says that an answer did not come to be worked on while it was waited for.
var errBusy = errors.New("waited for other requests to be answered")

// gate lets a bounded number of answers be worked on at a time; the others wait, in their
// order, as long as their requests do. Those about one Cluster take half of the places at
// most, so that one that is slow leaves room for the others.
type gate struct {
	all      *semaphore.Weighted
	limit    int64
	mu       sync.Mutex
	clusters map[types.NamespacedName]*lane
}

// lane is the part of the gate for one Cluster. It is there while somebody uses it.
type lane struct {
	places *semaphore.Weighted
	users  int
}

func newGate(limit int64) *gate {
	return &gate{all: semaphore.NewWeighted(limit), limit: limit, clusters: map[types.NamespacedName]*lane{}}
}

// enter waits for a place, which leave gives back. The error is errBusy, when ctx ends first.
// A nil gate is open.
func (g *gate) enter(ctx context.Context, cluster types.NamespacedName) (leave func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	own := g.use(cluster)
	if err := own.places.Acquire(ctx, 1); err != nil {
		g.unuse(cluster)
		return nil, fmt.Errorf("%w: %d of Cluster %s are worked on at a time; ask again later", errBusy, g.limit/2, cluster.Name)
	}
	if err := g.all.Acquire(ctx, 1); err != nil {
		own.places.Release(1)
		g.unuse(cluster)
		return nil, fmt.Errorf("%w: %d are worked on at a time; ask again later", errBusy, g.limit)
	}
	return func() {
		g.all.Release(1)
		own.places.Release(1)
		g.unuse(cluster)
	}, nil
}

func (g *gate) use(cluster types.NamespacedName) *lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.clusters[cluster]
	if own == nil {
		own = &lane{places: semaphore.NewWeighted(g.limit / 2)}
		g.clusters[cluster] = own
	}
	own.users++
	return own
}

func (g *gate) unuse(cluster types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.clusters[cluster]
	if own.users--; own.users == 0 {
		delete(g.clusters, cluster)
	}
}
