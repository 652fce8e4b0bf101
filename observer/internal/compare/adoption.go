// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/managed"
)

// adopted is what applying makes of a live object of which kubectl wrote something, or whoever
// else is named for that: result, that of a dry run, without what they wrote and nobody else
// has or desires. A dry run cannot hand the fields over first, so that they are taken out of a
// second one, in which the server puts its defaults in their place.
func (c *Comparer) adopted(ctx context.Context, resource dynamic.ResourceInterface, key corev1alpha1.ObjectKey,
	live, result *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	handedOver := managed.Adopted(c.Release)
	if !slices.ContainsFunc(live.GetManagedFields(), handedOver) {
		return result, nil
	}
	gone, err := abandoned(live, result, handedOver)
	if err != nil {
		return nil, err
	}
	_, copied := live.GetAnnotations()[lastApplied]
	if gone.Empty() && !copied {
		return result, nil
	}
	without := result.DeepCopy()
	gone.Iterate(func(path fieldpath.Path) { managed.Remove(without.Object, path) })
	unstructured.RemoveNestedField(without.Object, "metadata", "annotations", lastApplied)
	after, err := c.dryReplacement(ctx, resource, key, live, without)
	if err != nil {
		return nil, fmt.Errorf("taking over what others wrote: %w", err)
	}
	return after, nil
}

// dryReplacement asks the target what comes of making one object of a live one: with its
// defaults, and what its webhooks write.
func (c *Comparer) dryReplacement(ctx context.Context, resource dynamic.ResourceInterface, key corev1alpha1.ObjectKey,
	live, object *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	patch, err := managed.Replacement(live.Object, object.Object)
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, dryRunTimeout, key, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return resource.Patch(ctx, key.Name, types.JSONPatchType, patch, metav1.PatchOptions{
			FieldManager: corev1alpha1.FieldManager, DryRun: []string{metav1.DryRunAll},
		})
	})
}

// abandoned are the fields of the entries of a live object that are handed over and that are
// neither among those that a dry run of the apply gave convoy, nor another manager's.
func abandoned(live, result *unstructured.Unstructured, handedOver func(metav1.ManagedFieldsEntry) bool) (*fieldpath.Set, error) {
	theirs, kept := fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		if handedOver(entry) {
			fields, err := managed.Fields(entry)
			if err != nil {
				return nil, err
			}
			theirs = theirs.Union(fields)
		}
	}
	for _, entry := range result.GetManagedFields() {
		if handedOver(entry) {
			continue
		}
		fields, err := managed.Fields(entry)
		if err != nil {
			return nil, err
		}
		kept = kept.Union(fields)
	}
	gone := fieldpath.NewSet()
	theirs.Difference(kept).Iterate(func(path fieldpath.Path) {
		if !above(kept, path) {
			gone.Insert(path.Copy())
		}
	})
	return gone, nil
}

// above tells whether a set has something under a path: then what is at the path stays.
func above(set *fieldpath.Set, path fieldpath.Path) bool {
	for _, element := range path {
		set = set.WithPrefix(element)
	}
	return !set.Empty()
}
