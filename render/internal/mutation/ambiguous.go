// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"encoding/json"
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
	inPatch, inObject := placesBy(key, entries), placesBy(key, under)
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		wanted, ok := fields[key]
		if !ok {
			continue
		}
		if places := inPatch[known(wanted)]; len(places) > 1 {
			return ambiguous(path, key, wanted, "the patch", places)
		}
		places := inObject[known(wanted)]
		if len(places) > 1 {
			return ambiguous(path, key, wanted, "the object", places)
		}
		if len(places) == 1 {
			if err := checkKeys(entryPath(path, key, wanted), under[places[0]].(map[string]any), fields, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

func entryPath(path, key string, value any) string {
	return fmt.Sprintf("%s[%s: %v]", path, key, value)
}

func ambiguous(path, key string, value any, in string, places []int) error {
	return fmt.Errorf("%s is ambiguous: it is both entry %d and entry %d of the list in %s; use type: json, which names entries by their place",
		strings.TrimPrefix(entryPath(path, key, value), "."), places[0], places[1], in)
}

// placesBy gives the places of entries, from 0 as in a JSON patch, by what they have for a key.
func placesBy(key string, entries []any) map[any][]int {
	places := make(map[any][]int, len(entries))
	for i, e := range entries {
		entry, _ := e.(map[string]any)
		if value, ok := entry[key]; ok {
			places[known(value)] = append(places[known(value)], i)
		}
	}
	return places
}

// known gives what is equal for values that are the same.
func known(value any) any {
	switch value.(type) {
	case map[string]any, []any:
		text, _ := json.Marshal(value) // keys are sorted, and whole numbers have no point
		return [1]string{string(text)}
	}
	return number(value)
}
