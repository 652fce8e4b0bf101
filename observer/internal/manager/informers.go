// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"

	"kumodo.io/convoy/client/clientset/versioned"
	informers "kumodo.io/convoy/client/informers/externalversions"
	"kumodo.io/convoy/internal/compact"
)

// newInformers returns the informers of the host cluster.
func newInformers(client versioned.Interface) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(compact.Transform()))
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
