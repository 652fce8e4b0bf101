// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// checkKeys refuses a strategic merge patch by which it cannot be told what is meant: entries
// of lists are known by one field, of which two entries can have the same value, such as the
// port 80 for TCP and for UDP. The library would change the first of them.
func checkKeys(path string, object, patch map[string]any, schema strategicpatch.LookupPatchMeta) error {
	for _, field := range slices.Sorted(maps.Keys(patch)) {
		var err error
		switch value := patch[field].(type) {
		case map[string]any:
			err = checkFields(path+"."+field, field, object, value, schema)
		case []any:
			err = checkEntries(path+"."+field, field, object, value, schema)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func checkFields(path, field string, object, value map[string]any, schema strategicpatch.LookupPatchMeta) error {
	under, ok := object[field].(map[string]any)
	if !ok || value["$patch"] != nil && value["$patch"] != "merge" {
		return nil // there is nothing to merge with
	}
	// What the schema does not know the library refuses.
	if inner, _, err := schema.LookupPatchMetadataForStruct(field); err == nil {
		return checkKeys(path, under, value, inner)
	}
	return nil
}

// checkEntries looks at a list that is merged entry by entry.
func checkEntries(path, field string, object map[string]any, entries []any, schema strategicpatch.LookupPatchMeta) error {
	under, ok := object[field].([]any)
	if !ok || strings.HasPrefix(field, "$") {
		return nil
	}
	inner, meta, err := schema.LookupPatchMetadataForSlice(field)
	key := meta.GetPatchMergeKey()
	if err != nil || key == "" || !slices.Contains(meta.GetPatchStrategies(), "merge") {
		return nil
	}
	if slices.ContainsFunc(entries, func(e any) bool { m, _ := e.(map[string]any); return m["$patch"] == "replace" }) {
		return nil
	}
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		wanted, ok := fields[key]
		if !ok {
			continue
		}
		here := fmt.Sprintf("%s[%s: %v]", path, key, wanted)
		if n := having(entries, key, wanted); len(n) > 1 {
			return ambiguous(here, "the patch", n)
		}
		found := having(under, key, wanted)
		if len(found) > 1 {
			return ambiguous(here, "the object", found)
		}
		if len(found) == 1 {
			if err := checkKeys(here, found[0].entry, fields, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

func ambiguous(path, in string, found []placed) error {
	return fmt.Errorf("%s is ambiguous: it is both entry %d and entry %d of the list in %s; use type: json, which names entries by their place",
		strings.TrimPrefix(path, "."), found[0].place, found[1].place, in)
}

// placed is an entry of a list and its place, from 0 as in a JSON patch.
type placed struct {
	entry map[string]any
	place int
}

// having gives the entries that have a value for a key.
func having(entries []any, key string, value any) []placed {
	var found []placed
	for i, e := range entries {
		entry, ok := e.(map[string]any)
		if has, there := entry[key]; ok && there && same(has, value) {
			found = append(found, placed{entry, i})
		}
	}
	return found
}
