// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"reflect"
	"strings"
)

// contains tells whether a live value has all that a desired one says: of a map its fields, of a
// list items that contain those at the same place, and no more. Applying what was applied before
// then changes nothing. It errs on the side of no, as with a quantity in another spelling.
func contains(live, desired any) bool {
	switch desired := desired.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		for field, value := range desired {
			if !ok || !contains(live[field], value) {
				return false
			}
		}
		return ok
	case []any:
		live, ok := live.([]any)
		if !ok || len(live) != len(desired) {
			return false
		}
		for i := range desired {
			if !contains(live[i], desired[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(live, desired)
}

// isSet tells whether an object has a field at a JSON pointer.
func isSet(object map[string]any, path string) bool {
	var value any = object
	for token := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		var ok bool
		if value, ok = child(value, unescape(token)); !ok {
			return false
		}
	}
	return true
}
