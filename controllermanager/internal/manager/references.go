// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/references"
	"kumodo.io/convoy/internal/sources"
)

// Kinds of owners besides those of sources.
const (
	kindCluster = "Cluster"
	kindRelease = "Release"
)

// owner is an object of convoy's that refers to ConfigMaps and Secrets.
type owner struct {
	kind string
	types.NamespacedName
}

// tracked tracks what the objects of one kind refer to.
type tracked struct {
	watcher *references.Watcher[owner]
	kind    string
}

func (t tracked) Track(ctx context.Context, key types.NamespacedName, objects []references.Object) string {
	return t.watcher.Track(ctx, owner{t.kind, key}, objects)
}

func (t tracked) Forget(key types.NamespacedName) { t.watcher.Forget(owner{t.kind, key}) }

// watchReferences makes what enqueues objects when something changes that they refer to.
func (m *Manager) watchReferences(connections *clusterconn.Connector) error {
	client, err := metadata.NewForConfig(m.config.rest)
	if err != nil {
		return fmt.Errorf("metadata client of the host cluster: %w", err)
	}
	m.references = references.NewWatcher(klog.Background(), client, func(owners []owner) {
		for _, o := range owners {
			if o.kind == kindCluster { // first, for what the others do then is done over its connection
				connections.Recheck(o.Namespace, o.Name)
			}
		}
		for _, o := range owners {
			m.enqueue(o)
		}
	})
	return nil
}

func (m *Manager) enqueue(o owner) {
	var queue base.Enqueuer[types.NamespacedName]
	switch o.kind {
	case kindCluster:
		queue = m.clusters
	case kindRelease:
		queue = m.releases
	case sources.KindGitRepository:
		queue = m.gitRepositories
	case sources.KindHelmRegistry:
		queue = m.helmRegistries
	case sources.KindOCIRegistry:
		queue = m.ociRegistries
	default:
		return
	}
	queue.Enqueue(o.NamespacedName, base.PriorityChange)
}

// owns tells whether this process works on an object.
func (m *Manager) owns(o owner) bool {
	switch o.kind {
	case kindCluster:
		return m.ownsCluster(o.NamespacedName)
	case kindRelease:
		return m.ownsRelease(o.NamespacedName)
	}
	return m.ownsSource(o.kind)(o.NamespacedName)
}
