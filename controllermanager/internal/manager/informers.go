// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"

	"kumodo.io/convoy/client/clientset/versioned"
	externalversions "kumodo.io/convoy/client/informers/externalversions"
	"kumodo.io/convoy/internal/compact"
	"kumodo.io/convoy/internal/sources"
)

// informers are the caches of the host cluster's objects.
type informers struct {
	factory externalversions.SharedInformerFactory

	releases, inventories, clusters                cache.SharedIndexInformer
	gitRepositories, helmRegistries, ociRegistries cache.SharedIndexInformer
}

func newInformers(client versioned.Interface, resync time.Duration) *informers {
	factory := externalversions.NewSharedInformerFactoryWithOptions(client, resync, externalversions.WithTransform(compact.Transform()))
	core, source := factory.Core().V1alpha1(), factory.Source().V1alpha1()
	return &informers{
		factory:         factory,
		releases:        core.Releases().Informer(),
		inventories:     core.ReleaseInventories().Informer(),
		clusters:        core.Clusters().Informer(),
		gitRepositories: source.GitRepositories().Informer(),
		helmRegistries:  source.HelmRegistries().Informer(),
		ociRegistries:   source.OCIRegistries().Informer(),
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
