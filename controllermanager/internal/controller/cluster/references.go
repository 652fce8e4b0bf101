// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/references"
)

// References has Clusters enqueued when Secrets change that they refer to.
type References interface {
	// Track has changes of the objects, from now on, enqueue the Cluster, and no others. The
	// state that it gives is the same while they are.
	Track(ctx context.Context, cluster types.NamespacedName, objects []references.Object) (state string)
	Forget(cluster types.NamespacedName)
}

// secrets remembers the state of the Secrets of each Cluster at the last pass.
type secrets struct {
	mu     sync.Mutex
	states map[types.NamespacedName]string
}

// replace gives whether the state is another than it was.
func (s *secrets) replace(key types.NamespacedName, state string) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.states[key]
	if s.states == nil {
		s.states = map[types.NamespacedName]string{}
	}
	s.states[key] = state
	return known && before != state
}

func (s *secrets) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.states, key)
}

// track has a Cluster enqueued when a Secret changes that its connection is made of, and has
// it looked at now when one has changed since the last pass. It goes before the look.
func (c *Controller) track(ctx context.Context, cluster *corev1alpha1.Cluster) {
	if c.config.References == nil {
		return
	}
	key := nameOf(cluster)
	if c.secrets.replace(key, c.config.References.Track(ctx, key, references.OfCluster(cluster))) {
		c.discard(key)
	}
}

// untrack ends what track began.
func (c *Controller) untrack(key types.NamespacedName) {
	c.secrets.forget(key)
	if c.config.References != nil {
		c.config.References.Forget(key)
	}
}
