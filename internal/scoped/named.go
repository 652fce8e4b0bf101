// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// maxNamed is how many objects are watched by name at most: each takes a watch of the host. More
// of them are not told of. Once half of them are taken, a namespace that has maxNamedShare gets no
// more: there is room for others.
const (
	maxNamed      = 512
	maxNamedShare = 64
)

// Named watches single objects, each as long as somebody, an owner, wants to be told of it. The
// Cache tells handlers of their changes; K identifies owners.
type Named[K comparable] struct {
	cache  *Cache[types.NamespacedName]
	logger klog.Logger
	limit  int
	share  int

	mu      sync.Mutex
	stopped bool
	full    bool // it was logged that there are too many
	wanted  map[K][]types.NamespacedName
	owners  map[types.NamespacedName]int // how many want it
}

// NewNamed makes a Named that watches nothing.
func NewNamed[K comparable](logger klog.Logger, c *Cache[types.NamespacedName]) *Named[K] {
	return &Named[K]{cache: c, logger: logger, limit: maxNamed, share: maxNamedShare, wanted: map[K][]types.NamespacedName{}, owners: map[types.NamespacedName]int{}}
}

// Want has these objects watched for an owner from now on, whether they exist or not, and no
// others. It does not wait: what changes after it has returned is told.
func (n *Named[K]) Want(owner K, names []types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return
	}
	n.drop(owner, names)
	for _, name := range names {
		switch {
		case slices.Contains(n.wanted[owner], name):
			continue
		case n.owners[name] == 0 && !n.hasRoom(name.Namespace):
			n.refuse(name)
			continue
		}
		n.wanted[owner] = append(n.wanted[owner], name)
		if n.owners[name]++; n.owners[name] == 1 {
			n.cache.Begin(klog.NewContext(context.Background(), n.logger), name, true)
		}
	}
}

// hasRoom tells whether one more object of a namespace may be watched.
func (n *Named[K]) hasRoom(namespace string) bool {
	if len(n.owners) < n.limit/2 {
		return true
	}
	taken := 0
	for name := range n.owners {
		if name.Namespace == namespace {
			taken++
		}
	}
	return len(n.owners) < n.limit && taken < n.share
}

// refuse leaves an object unwatched.
func (n *Named[K]) refuse(name types.NamespacedName) {
	if !n.full {
		n.full = true
		n.logger.Info("Too many objects of other shards are waited for: changes of more are seen at the next resync; told once",
			"watched", n.limit, "such as", klog.KRef(name.Namespace, name.Name))
	}
}

// drop ends an owner's interest in all objects but some.
func (n *Named[K]) drop(owner K, but []types.NamespacedName) {
	var left []types.NamespacedName
	for _, name := range n.wanted[owner] {
		if slices.Contains(but, name) {
			left = append(left, name)
			continue
		}
		if n.owners[name]--; n.owners[name] == 0 {
			delete(n.owners, name)
			n.cache.End(name)
		}
	}
	if n.wanted[owner] = left; len(left) == 0 {
		delete(n.wanted, owner)
	}
}

// Stop ends all watches and returns when they have ended. No new one begins.
func (n *Named[K]) Stop() {
	n.mu.Lock()
	n.stopped = true
	for name := range n.owners {
		n.cache.End(name)
	}
	n.mu.Unlock()
	n.cache.Wait()
}
