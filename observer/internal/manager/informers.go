// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/cache"

	"kumodo.io/convoy/client/clientset/versioned"
	informers "kumodo.io/convoy/client/informers/externalversions"
	"kumodo.io/convoy/internal/compact"
	"kumodo.io/convoy/internal/scoped"
)

// newInformers returns the informers of the host cluster.
func newInformers(client versioned.Interface) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(compact.Transform()))
}

// informer has the objects of one kind.
type informer interface {
	AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
	GetIndexer() cache.Indexer
}

// core are the informers of what is in shards.
type core struct {
	// byShard has the objects of the shards that are held; nil: all objects are cached.
	byShard                         *scoped.Host
	releases, inventories, clusters informer
}

// newCore gives the informers of what is in shards: with someOnly, of held ones.
func newCore(client versioned.Interface, factory informers.SharedInformerFactory, someOnly bool) core {
	if someOnly {
		host := scoped.NewHost(client, 0)
		return core{byShard: host, releases: host.Releases, inventories: host.Inventories, clusters: host.Clusters}
	}
	all := factory.Core().V1alpha1()
	return core{releases: all.Releases().Informer(), inventories: all.ReleaseInventories().Informer(), clusters: all.Clusters().Informer()}
}

// hold tells whether all objects of a shard are cached.
func (c core) hold(n int) bool { return c.byShard == nil || c.byShard.Holds(n) }

// stop returns when the informers have ended, whose context has.
func (c core) stop() {
	if c.byShard != nil {
		c.byShard.Stop()
	}
}

// startInformers starts the informers and returns when they have caught up, or ctx ends.
func startInformers(ctx context.Context, factory informers.SharedInformerFactory) error {
	factory.StartWithContext(ctx)
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return errors.Join(ctx.Err(), fmt.Errorf("the cache of %v has not caught up", kind))
		}
	}
	return nil
}
