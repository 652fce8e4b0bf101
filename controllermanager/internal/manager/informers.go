// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"kumodo.io/convoy/client/clientset/versioned"
	externalversions "kumodo.io/convoy/client/informers/externalversions"
	"kumodo.io/convoy/internal/compact"
	"kumodo.io/convoy/internal/scoped"
	"kumodo.io/convoy/internal/sources"
)

// informer has the objects of one kind.
type informer interface {
	AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
	AddIndexers(indexers cache.Indexers) error
	GetIndexer() cache.Indexer
}

// informers are the caches of the host cluster's objects.
type informers struct {
	factory externalversions.SharedInformerFactory
	// byShard has the first three kinds of the shards that are held; nil: everything is cached.
	byShard *scoped.Host
	// elsewhere has single Releases of other shards, nil likewise.
	elsewhere *elsewhere

	releases, inventories, clusters                informer
	gitRepositories, helmRegistries, ociRegistries cache.SharedIndexInformer
}

// elsewhere watches Releases by name.
type elsewhere struct {
	*scoped.Cache[types.NamespacedName]
	*scoped.Named[types.NamespacedName]
}

// newInformers makes the informers; with someOnly, those of Releases, inventories and Clusters
// have the objects of held shards only.
func newInformers(client versioned.Interface, resync time.Duration, someOnly bool) *informers {
	factory := externalversions.NewSharedInformerFactoryWithOptions(client, resync, externalversions.WithTransform(compact.Transform()))
	core, source := factory.Core().V1alpha1(), factory.Source().V1alpha1()
	i := &informers{
		factory:         factory,
		gitRepositories: source.GitRepositories().Informer(),
		helmRegistries:  source.HelmRegistries().Informer(),
		ociRegistries:   source.OCIRegistries().Informer(),
	}
	if !someOnly {
		i.releases, i.inventories, i.clusters = core.Releases().Informer(), core.ReleaseInventories().Informer(), core.Clusters().Informer()
		return i
	}
	i.byShard = scoped.NewHost(client, resync)
	i.releases, i.inventories, i.clusters = i.byShard.Releases, i.byShard.Inventories, i.byShard.Clusters
	single := scoped.NewReleases(client)
	i.elsewhere = &elsewhere{single, scoped.NewNamed[types.NamespacedName](klog.Background(), single)}
	return i
}

// hold tells whether all objects of a shard are cached.
func (i *informers) hold(n int) bool { return i.byShard == nil || i.byShard.Holds(n) }

// stop returns when the informers have ended, whose context has.
func (i *informers) stop() {
	i.factory.Shutdown()
	if i.byShard != nil {
		i.byShard.Stop()
		i.elsewhere.Stop()
	}
}

// sources finds source objects in the caches.
func (i *informers) sources() sources.Lookup {
	source := i.factory.Source().V1alpha1()
	return sources.Lookup{
		GitRepositories: source.GitRepositories().Lister(),
		HelmRegistries:  source.HelmRegistries().Lister(),
		OCIRegistries:   source.OCIRegistries().Lister(),
	}
}

// start starts the informers and returns when they have caught up, or ctx ends. A host
// whose convoy API is not served yet is waited for: the processes of an installation start
// in any order.
func (i *informers) start(ctx context.Context) error {
	i.factory.StartWithContext(ctx)
	for kind, synced := range i.factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return errors.Join(ctx.Err(), fmt.Errorf("the cache of %v has not caught up", kind))
		}
	}
	return nil
}
