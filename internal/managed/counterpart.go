// SPDX-License-Identifier: Apache-2.0

package managed

import "reflect"

// Counterpart gives the place in a list of the item that is the one at a place in another list, -1 for
// none: one of the same name, if it has one. Of several of that name it is the one that is most
// like it, and of those the one at the same place before others. Of an item without a name, or that
// is not there, it is the one at the same place.
func Counterpart(items, others []any, place int) int {
	if place < 0 {
		return -1
	}
	var item any
	if place < len(others) {
		item = others[place]
	}
	name := itemName(item)
	if name == "" {
		if place < len(items) {
			return place
		}
		return -1
	}
	found, most := -1, -1
	for i, candidate := range items {
		if itemName(candidate) != name {
			continue
		}
		if alike := alike(candidate, item); alike > most || alike == most && i == place {
			found, most = i, alike
		}
	}
	return found
}

func itemName(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// alike counts the fields that two items have in common.
func alike(a, b any) int {
	one, _ := a.(map[string]any)
	other, _ := b.(map[string]any)
	count := 0
	for field, value := range one {
		if held, ok := other[field]; ok && reflect.DeepEqual(held, value) {
			count++
		}
	}
	return count
}
