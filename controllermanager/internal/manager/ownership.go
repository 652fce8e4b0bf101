// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/shard"
	"kumodo.io/convoy/internal/sources"
)

// queue is what a change of ownership does with a controller.
type queue interface {
	DropUnowned()
}

// works tells whether this process works on the shard of a Cluster, and its Releases: it has the
// shard, and all that is in it is cached.
func (m *Manager) works(clusterKey string) bool {
	n := shard.Of(clusterKey, m.shards.Shards())
	return m.shards.Owns(n) && m.informers.hold(n)
}

// ownsCluster tells whether this process works on a Cluster.
func (m *Manager) ownsCluster(key types.NamespacedName) bool {
	return m.works(shard.ClusterKey(key.Namespace, key.Name))
}

// farewell is the time in which the work on lost shards is cut off. Of a Release that is gone
// from the cache nobody knows any more whether it was in one of them, so that it counts as
// lost: a pass over it may still be under way, by which its objects would come again.
type farewell struct {
	mu   sync.Mutex
	lost map[types.NamespacedName]bool // gone Releases that were asked for; nil: nothing is cut off
}

func (f *farewell) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = map[types.NamespacedName]bool{}
}

// end gives the gone Releases that were taken for lost.
func (f *farewell) end() []types.NamespacedName {
	f.mu.Lock()
	defer f.mu.Unlock()
	lost := slices.Collect(maps.Keys(f.lost))
	f.lost = nil
	return lost
}

// takes says whether a gone Release counts as lost.
func (f *farewell) takes(key types.NamespacedName) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost == nil {
		return false
	}
	f.lost[key] = true
	return true
}

// ownsRelease tells whether this process works on a Release. One that is gone from the
// cache is, but while work is cut off: what is remembered of it must go too. It may be in a
// shard that is not cached: a pass over what is not cached does nothing else.
func (m *Manager) ownsRelease(key types.NamespacedName) bool {
	object, exists, err := m.informers.releases.GetIndexer().GetByKey(key.String())
	if err != nil || !exists {
		return !m.farewell.takes(key)
	}
	release, ok := object.(*corev1alpha1.Release)
	return ok && m.ownsCachedRelease(release)
}

func (m *Manager) ownsCachedRelease(release *corev1alpha1.Release) bool {
	return m.works(shard.ReleaseKey(release.Namespace, release.Spec.ClusterRef.Name))
}

// ownsSource gives what tells whether this process works on a source of a kind.
func (m *Manager) ownsSource(kind string) func(types.NamespacedName) bool {
	return func(key types.NamespacedName) bool {
		return m.shards.OwnsKey(shard.SourceKey(kind, key.Namespace, key.Name))
	}
}

// ownershipChanged cuts off the work on lost shards and takes up everything owned when
// shards were gained.
func (m *Manager) ownershipChanged(ctx context.Context) func(gained, lost []int) {
	return func(gained, lost []int) {
		if len(lost) > 0 {
			m.farewell.begin()
			for _, queue := range []queue{m.clusters, m.releases, m.gitRepositories, m.helmRegistries, m.ociRegistries} {
				queue.DropUnowned()
			}
			for _, gone := range m.farewell.end() {
				m.releases.Enqueue(gone, base.PriorityResync)
			}
			m.references.Retain(m.owns)
			m.uncache(lost)
		}
		if len(gained) > 0 {
			m.gained.Store(ptr.To(time.Now()))
			m.cache(ctx, gained)
			m.enqueueSources()
		}
	}
}

// cache takes up everything in gained shards when it is cached, which it is at once where
// everything is.
func (m *Manager) cache(ctx context.Context, gained []int) {
	if m.informers.byShard == nil {
		m.clusters.EnqueueShard(m.ownsCluster)
		m.releases.EnqueueShard(m.ownsCachedRelease)
		return
	}
	for _, n := range gained {
		m.informers.byShard.Gain(ctx, n, func() {
			in := func(clusterKey string) bool { return shard.Of(clusterKey, m.shards.Shards()) == n }
			m.clusters.EnqueueShard(func(key types.NamespacedName) bool { return in(shard.ClusterKey(key.Namespace, key.Name)) })
			m.releases.EnqueueShard(func(release *corev1alpha1.Release) bool {
				return in(shard.ReleaseKey(release.Namespace, release.Spec.ClusterRef.Name))
			})
		})
	}
}

// uncache forgets what is in lost shards, when the work on it has ended.
func (m *Manager) uncache(lost []int) {
	if m.informers.byShard == nil {
		return
	}
	m.releases.ForgetShard(func(release *corev1alpha1.Release) bool { return !m.ownsCachedRelease(release) })
	m.informers.byShard.Lose(lost...)
	m.releases.EnqueueWaiting()
}

// enqueueSources enqueues every owned source.
func (m *Manager) enqueueSources() {
	m.gitRepositories.EnqueueShard(m.ownsSource(sources.KindGitRepository))
	m.helmRegistries.EnqueueShard(m.ownsSource(sources.KindHelmRegistry))
	m.ociRegistries.EnqueueShard(m.ownsSource(sources.KindOCIRegistry))
}
