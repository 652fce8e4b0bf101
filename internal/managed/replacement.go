// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// escaper makes a name a token of a JSON pointer (RFC 6901).
var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// Replacement is the JSON patch that makes one object of another, in all that people write.
func Replacement(from, to map[string]any) ([]byte, error) {
	var operations []map[string]any
	put := func(path string, value any, ok bool) {
		if ok {
			operations = append(operations, map[string]any{"op": "add", "path": path, "value": value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
			put("/"+escaper.Replace(name), to[name], true)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, ok := to[name]; !ok && name != "status" {
			operations = append(operations, map[string]any{"op": "remove", "path": "/" + escaper.Replace(name)})
		}
	}
	metadata, _ := to["metadata"].(map[string]any)
	for _, name := range []string{"annotations", "labels"} {
		value, ok := metadata[name]
		put("/metadata/"+name, value, ok)
	}
	return json.Marshal(operations)
}
