// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// asApplied tells whether a live object has all that was applied last, and nothing in between
// that applying would take off, nor anything else that convoy owns: then applying changes
// nothing. It errs on the side of no, as with a quantity in another spelling, or a field that
// somebody else wrote to.
func asApplied(live, applied *unstructured.Unstructured) bool {
	owned := ownedByConvoy(live)
	if owned == nil || surplus(owned, applied.Object) {
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
		return ok && !surplus(owned, applied)
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
	inner, ok := ownedItem(owned, item)
	return ok && contains(item, applied, inner)
}

// surplus tells whether there is an owned field of a map that was not applied: applying takes
// it off.
func surplus(owned, applied map[string]any) bool {
	for name := range owned {
		field, ok := strings.CutPrefix(name, "f:")
		if _, stays := applied[field]; ok && !stays {
			return true
		}
	}
	return false
}
