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

// kubectlManagers are the field managers of kubectl whose fields become convoy's when it
// applies an object for the first time, as convoy-controller-manager knows them.
var kubectlManagers = []string{
	"kubectl-client-side-apply", "kubectl-create", "kubectl-replace", "kubectl-edit", "kubectl-patch",
	"kubectl-set", "kubectl-run", "kubectl-expose", "kubectl-autoscale",
}

// adopted is what applying makes of a live object of which kubectl wrote something: result,
// that of a dry run, without what kubectl wrote and nobody else has or desires. A dry run
// cannot hand the fields over first, so that they are taken out of a second one, in which the
// server puts its defaults in their place.
func (c *Comparer) adopted(ctx context.Context, resource dynamic.ResourceInterface, key corev1alpha1.ObjectKey,
	live, result *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if !slices.ContainsFunc(live.GetManagedFields(), byKubectl) {
		return result, nil
	}
	gone, err := abandoned(live, result)
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
		return nil, fmt.Errorf("taking over what kubectl wrote: %w", err)
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

// abandoned are the fields that kubectl wrote of a live object and that are neither among
// those that a dry run of the apply gave convoy, nor another manager's.
func abandoned(live, result *unstructured.Unstructured) (*fieldpath.Set, error) {
	kubectl, kept := fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		if byKubectl(entry) {
			fields, err := managed.Fields(entry)
			if err != nil {
				return nil, err
			}
			kubectl = kubectl.Union(fields)
		}
	}
	for _, entry := range result.GetManagedFields() {
		if byKubectl(entry) {
			continue
		}
		fields, err := managed.Fields(entry)
		if err != nil {
			return nil, err
		}
		kept = kept.Union(fields)
	}
	gone := fieldpath.NewSet()
	kubectl.Difference(kept).Iterate(func(path fieldpath.Path) {
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

func byKubectl(entry metav1.ManagedFieldsEntry) bool {
	return entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == "" && slices.Contains(kubectlManagers, entry.Manager)
}
