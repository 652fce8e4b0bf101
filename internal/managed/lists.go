// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"encoding/json"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// keyDefaults are the values that servers take for keys that an item leaves out.
var keyDefaults = map[string]any{"protocol": "TCP"}

// itemOf names an item of a list by its keys; ok is false for one that has not all of them.
func itemOf(item any, keys []string) (element fieldpath.PathElement, ok bool) {
	content, ok := item.(map[string]any)
	if !ok {
		return element, false
	}
	var fields value.FieldList
	for _, name := range keys {
		held, ok := content[name]
		if !ok {
			held, ok = keyDefaults[name]
		}
		if !ok {
			return element, false
		}
		fields = append(fields, value.Field{Name: name, Value: value.NewValueInterface(held)})
	}
	return fieldpath.KeyElement(fields...), len(keys) > 0
}

// find gives the place of the item of a list that an element of a path names, -1 for none.
func find(items []any, element fieldpath.PathElement) int {
	return slices.IndexFunc(items, func(item any) bool { return names(element, item) })
}

// names tells whether an element of a path names an item of a list.
func names(element fieldpath.PathElement, item any) bool {
	if element.Value != nil {
		return same((*element.Value).Unstructured(), item)
	}
	if element.Key == nil {
		return false
	}
	content, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for _, key := range *element.Key {
		held, ok := content[key.Name]
		if !ok {
			held = keyDefaults[key.Name]
		}
		if !same(key.Value.Unstructured(), held) {
			return false
		}
	}
	return true
}

// same compares values of which one may have its numbers in another type.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// has tells whether there is something at a path.
func has(within any, path fieldpath.Path) bool {
	if len(path) == 0 {
		return within != nil
	}
	switch within := within.(type) {
	case map[string]any:
		if path[0].FieldName == nil {
			return false
		}
		inner, ok := within[*path[0].FieldName]
		return ok && has(inner, path[1:])
	case []any:
		i := find(within, path[0])
		return i >= 0 && has(within[i], path[1:])
	}
	return false
}

// Remove takes what is at a path out of an object and gives the object that is left. A path
// that leads nowhere removes nothing.
func Remove(from any, path fieldpath.Path) any {
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
			from[name] = Remove(inner, path[1:])
		}
	case []any:
		i := find(from, path[0])
		switch {
		case i < 0:
		case len(path) == 1:
			return slices.Delete(from, i, i+1)
		default:
			from[i] = Remove(from[i], path[1:])
		}
	}
	return from
}
