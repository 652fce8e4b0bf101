// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// asApplied tells whether a live object has all that was applied last, and nothing in between
// that applying would take off: then applying changes nothing. It errs on the side of no, as
// with a quantity in another spelling, or a field that somebody else wrote to.
func asApplied(live, applied *unstructured.Unstructured) bool {
	owned := ownedByConvoy(live)
	if owned == nil {
		return false
	}
	for field, value := range applied.Object {
		switch field {
		case "apiVersion", "kind":
		case "metadata":
			metadata, _ := value.(map[string]any)
			inner, _ := owned["f:metadata"].(map[string]any)
			if !contains(live.Object[field], copyWithout(metadata, "name", "namespace"), inner) {
				return false
			}
		default:
			if !containsField(live.Object, field, value, owned) {
				return false
			}
		}
	}
	return true
}

// contains tells whether a live value has all that an applied one says, each field owned by
// convoy: of a map its fields, of a list items that contain those at the same place, and no
// more. What is owned as a whole, as an atomic map is, has to be the same.
func contains(live, applied any, owned map[string]any) bool {
	if len(owned) == 0 {
		return reflect.DeepEqual(live, applied)
	}
	switch applied := applied.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		for field, value := range applied {
			if !ok || !containsField(live, field, value, owned) {
				return false
			}
		}
		return ok
	case []any:
		live, ok := live.([]any)
		if !ok || len(live) != len(applied) {
			return false
		}
		for i := range applied {
			if !containsItem(live[i], applied[i], owned) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(live, applied)
}

func containsField(live map[string]any, field string, applied any, owned map[string]any) bool {
	if applied == nil {
		return live[field] == nil
	}
	inner, ok := owned["f:"+field].(map[string]any)
	return ok && contains(live[field], applied, inner)
}

// containsItem is contains for an item of a list, owned by its keys or by its value.
func containsItem(live, applied any, owned map[string]any) bool {
	item, isMap := live.(map[string]any)
	if !isMap {
		return reflect.DeepEqual(live, applied)
	}
	for name, inner := range owned {
		inner, ok := inner.(map[string]any)
		if ok && strings.HasPrefix(name, "k:") && isKeyOf(strings.TrimPrefix(name, "k:"), item) {
			return contains(item, applied, inner)
		}
	}
	return false
}

// isKeyOf tells whether a key of FieldsV1, a JSON object, is that of an item.
func isKeyOf(key string, item map[string]any) bool {
	var fields map[string]any
	if err := json.Unmarshal([]byte(key), &fields); err != nil {
		return false
	}
	for field, value := range fields {
		if encode(item[field]) != encode(value) {
			return false
		}
	}
	return true
}

// ownedByConvoy are the fields that convoy applied, in the form of FieldsV1; nil: none.
func ownedByConvoy(live *unstructured.Unstructured) map[string]any {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != corev1alpha1.FieldManager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return nil
		}
		return fields
	}
	return nil
}

// concerns tells whether a change of a live object is one of what was applied: to a field of
// it, or one that is taken out of a map or list of it. Applying takes nothing else off.
func concerns(live, applied *unstructured.Unstructured, change corev1alpha1.FieldChange) bool {
	tokens := strings.Split(strings.TrimPrefix(change.Path, "/"), "/")
	if isSet(applied.Object, live.Object, tokens) {
		return true
	}
	parent := tokens[:len(tokens)-1]
	return change.To == "" && len(parent) > 0 && isSet(applied.Object, live.Object, parent)
}

// isSet tells whether an object has a field at a JSON pointer into another one. Items of lists
// are found by their names; of those that have none, any counts.
func isSet(of, other any, tokens []string) bool {
	if len(tokens) == 0 {
		return true
	}
	token := unescape(tokens[0])
	within, _ := child(other, token)
	if items, ok := of.([]any); ok && itemName(within) == "" {
		return slices.ContainsFunc(items, func(item any) bool { return isSet(item, within, tokens[1:]) })
	}
	inner, ok := childLike(of, other, token)
	return ok && isSet(inner, within, tokens[1:])
}
