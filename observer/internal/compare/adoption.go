// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
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
	gone.Iterate(func(path fieldpath.Path) { remove(without.Object, path) })
	unstructured.RemoveNestedField(without.Object, "metadata", "annotations", lastApplied)
	patch, err := replacement(live.Object, without.Object)
	if err != nil {
		return nil, err
	}
	after, err := c.ask(ctx, dryRunTimeout, key, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return resource.Patch(ctx, key.Name, types.JSONPatchType, patch, metav1.PatchOptions{
			FieldManager: corev1alpha1.FieldManager, DryRun: []string{metav1.DryRunAll},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("taking over what kubectl wrote: %w", err)
	}
	return after, nil
}

// abandoned are the fields that kubectl wrote of a live object and that are neither among
// those that a dry run of the apply gave convoy, nor another manager's.
func abandoned(live, result *unstructured.Unstructured) (*fieldpath.Set, error) {
	kubectl, kept := fieldpath.NewSet(), fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		if byKubectl(entry) {
			fields, err := fieldsOf(entry)
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
		fields, err := fieldsOf(entry)
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

func fieldsOf(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	fields := fieldpath.NewSet()
	if entry.FieldsV1 == nil {
		return fields, nil
	}
	if err := fields.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return nil, fmt.Errorf("reading the managed fields of %s: %w", entry.Manager, err)
	}
	return fields, nil
}

// remove takes what is at a path out of an object and gives the object that is left. A path
// that leads nowhere removes nothing.
func remove(from any, path fieldpath.Path) any {
	switch from := from.(type) {
	case map[string]any:
		if path[0].FieldName == nil {
			return from
		}
		name := *path[0].FieldName
		inner, ok := from[name]
		switch {
		case !ok:
		case len(path) == 1:
			delete(from, name)
		default:
			from[name] = remove(inner, path[1:])
		}
	case []any:
		i := slices.IndexFunc(from, func(item any) bool { return matches(path[0], item) })
		switch {
		case i < 0:
		case len(path) == 1:
			return slices.Delete(from, i, i+1)
		default:
			from[i] = remove(from[i], path[1:])
		}
	}
	return from
}

// matches tells whether an element of a path names an item of a list.
func matches(element fieldpath.PathElement, item any) bool {
	if element.Value != nil {
		return sameJSON((*element.Value).Unstructured(), item)
	}
	fields, ok := item.(map[string]any)
	if !ok || element.Key == nil {
		return false
	}
	for _, key := range *element.Key {
		if !sameJSON(key.Value.Unstructured(), fields[key.Name]) {
			return false
		}
	}
	return true
}

// sameJSON compares values of which one may have its numbers in another type.
func sameJSON(a, b any) bool { return encode(a) == encode(b) }

// replacement is the JSON patch that makes one object of another, in all that people write.
func replacement(from, to map[string]any) ([]byte, error) {
	var operations []map[string]any
	put := func(path string, value any, ok bool) {
		if ok {
			operations = append(operations, map[string]any{"op": "add", "path": path, "value": value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
			put("/"+escape(name), to[name], true)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, ok := to[name]; !ok && name != "status" {
			operations = append(operations, map[string]any{"op": "remove", "path": "/" + escape(name)})
		}
	}
	metadata, _ := to["metadata"].(map[string]any)
	for _, name := range []string{"annotations", "labels"} {
		value, ok := metadata[name]
		put("/metadata/"+name, value, ok)
	}
	return json.Marshal(operations)
}
