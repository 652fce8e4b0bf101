// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	informers "kumodo.io/convoy/client/informers/externalversions"
)

// newInformers returns the informers of the host cluster.
func newInformers(client versioned.Interface) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim))
}

// slim drops managed fields, which take half of an object's memory and are never read here,
// and has the texts that entries of inventories have in common in memory once.
func slim(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	if inventory, ok := object.(*corev1alpha1.ReleaseInventory); ok {
		share(inventory)
	}
	return object, nil
}

// share replaces equal texts by one. Health has its keys from the entries, in their order as a
// rule.
func share(inventory *corev1alpha1.ReleaseInventory) {
	entries, health := inventory.Spec.Entries, inventory.Status.Health
	for i := range entries {
		key := &entries[i].ObjectKey
		for _, text := range []*string{&key.Group, &key.Version, &key.Kind, &key.Namespace} {
			*text = unique.Make(*text).Value()
		}
	}
	for i := range health {
		if i < len(entries) && health[i].ObjectKey == entries[i].ObjectKey {
			health[i].ObjectKey = entries[i].ObjectKey
		}
		health[i].Status = unique.Make(health[i].Status).Value()
		health[i].Message = unique.Make(health[i].Message).Value()
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
