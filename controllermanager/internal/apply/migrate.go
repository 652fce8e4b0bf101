// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/managed"
)

// migrate hands what kubectl wrote, and whoever else is named for that (see managed.Adopted),
// to convoy, and removes kubectl's copy of it, so that the apply that follows removes what is
// not in the source. It gives the object as it is
// then; without anything to do that is live itself. The change happens only at the
// resourceVersion of live.
//
// Where conflicts with other managers are not overridden, it happens only when the apply
// would have none, those with whom they adopt from included.
func (d *delivery) migrate(ctx context.Context, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	adopted := managed.Adopted(d.options.Release)
	if !slices.ContainsFunc(live.GetManagedFields(), adopted) {
		return live, nil
	}
	if !d.override {
		if _, err := d.patch(ctx, withIgnored(d.desired, live, d.ignored), at(live), metav1.DryRunAll); err != nil {
			return nil, err
		}
	}
	patch, err := migration(live, adopted)
	if err != nil {
		return nil, err
	}
	return d.client.Patch(ctx, d.key.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: corev1alpha1.FieldManager})
}

// migration gives the JSON patch for migrate.
func migration(live *unstructured.Unstructured, adopted func(metav1.ManagedFieldsEntry) bool) ([]byte, error) {
	entries := live.GetManagedFields()
	var names []string
	for i, entry := range entries {
		if adopted(entry) {
			// What was applied is handed over as what was updated is, each entry by itself.
			names = append(names, strconv.Itoa(i))
			entries[i].Manager, entries[i].Operation = strconv.Itoa(i), metav1.ManagedFieldsOperationUpdate
		}
	}
	upgraded := &metav1.PartialObjectMetadata{}
	upgraded.SetManagedFields(entries)
	for _, name := range names {
		if err := csaupgrade.UpgradeManagedFields(upgraded, sets.New(name), corev1alpha1.FieldManager); err != nil {
			return nil, fmt.Errorf("migrating managed fields: %w", err)
		}
	}
	operations := managing(live, upgraded.GetManagedFields())
	if _, ok := live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok {
		annotation := pointer{"metadata", "annotations", corev1.LastAppliedConfigAnnotation}
		operations = append(operations, map[string]any{"op": "remove", "path": annotation.String()})
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("encoding the migration of managed fields: %w", err)
	}
	return patch, nil
}

// managing are the operations of a JSON patch that give a live object other managed fields.
func managing(live *unstructured.Unstructured, fields []metav1.ManagedFieldsEntry) []map[string]any {
	return []map[string]any{
		// Replaced rather than tested: a test that fails is an invalid request, a wrong
		// resourceVersion a conflict.
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
		{"op": "replace", "path": "/metadata/managedFields", "value": fields},
	}
}
