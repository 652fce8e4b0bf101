// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kumodo.io/convoy/internal/shard"
)

// The connection to a cluster of another shard, which an answer needed, is kept for this long
// after the last one, and it is looked for such this often.
const (
	visitKept  = 10 * time.Minute
	visitsLook = time.Minute
)

// visits are when answers last needed clusters of other shards. Nobody tells here when such a
// Cluster is gone.
type visits struct {
	mu   sync.Mutex
	last map[types.NamespacedName]time.Time
}

// note is told of a visit.
func (v *visits) note(cluster types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last == nil {
		v.last = map[types.NamespacedName]time.Time{}
	}
	v.last[cluster] = time.Now()
}

// over gives the clusters that were not visited since a time, and forgets their visits.
func (v *visits) over(since time.Time) []types.NamespacedName {
	v.mu.Lock()
	defer v.mu.Unlock()
	var over []types.NamespacedName
	for cluster, at := range v.last {
		if at.Before(since) {
			over = append(over, cluster)
			delete(v.last, cluster)
		}
	}
	return over
}

// forgetVisited ends connections that only past answers needed, until ctx ends.
func (m *Manager) forgetVisited(ctx context.Context) error {
	ticker := time.NewTicker(visitsLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			m.forgetVisitedBefore(now.Add(-visitKept))
		}
	}
}

func (m *Manager) forgetVisitedBefore(since time.Time) {
	for _, cluster := range m.visits.over(since) {
		if !m.works(shard.ClusterKey(cluster.Namespace, cluster.Name)) {
			m.host.Connector.Forget(cluster.Namespace, cluster.Name)
		}
	}
}
