// SPDX-License-Identifier: Apache-2.0

// Package compare tells how objects differ: a live object from what applying the desired
// one would make of it, and one render from another. It asks the target cluster only for
// reads and dry runs.
package compare

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// serverFields are the metadata that the API server writes; they say nothing about
// whether an object is as desired.
var serverFields = []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"}

// Fields lists the fields in which two objects differ, in the order of their paths. A nil
// object has no fields. Server-written metadata and status are left out, and so are
// convoy's own marks, which are not desired by anybody. Values of Secrets are masked; that
// one was added, changed or removed stays visible.
func Fields(from, to map[string]any) []corev1alpha1.FieldChange {
	changes := &changeList{}
	from, to = normalise(from), normalise(to)
	changes.compareMaps(place{}.at(from, to), "", from, to)
	return changes.items
}

// WithParents puts before the changes of an object those that make the labels and annotations that
// it has none of, so that the changes can be made one after the other: Fields tells each label and
// annotation, whether or not there are others.
func WithParents(from map[string]any, changes []corev1alpha1.FieldChange) []corev1alpha1.FieldChange {
	metadata, _ := from["metadata"].(map[string]any)
	var parents []corev1alpha1.FieldChange
	for _, field := range []string{"annotations", "labels"} {
		path := "/metadata/" + field
		if metadata[field] == nil && slices.ContainsFunc(changes, func(c corev1alpha1.FieldChange) bool { return strings.HasPrefix(c.Path, path+"/") }) {
			parents = append(parents, corev1alpha1.FieldChange{Path: path, To: "{}"})
		}
	}
	return append(parents, changes...)
}

// normalise returns a shallow copy without what Fields leaves out.
func normalise(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	result := copyWithout(object, "status")
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return result
	}
	metadata = copyWithout(metadata, serverFields...)
	removeKey(metadata, "labels", corev1alpha1.LabelOwner)
	removeKey(metadata, "annotations", corev1alpha1.AnnotationRelease)
	result["metadata"] = metadata
	return result
}

// removeKey takes key out of the map at field without changing the map that is shared.
func removeKey(parent map[string]any, field, key string) {
	child, ok := parent[field].(map[string]any)
	if !ok {
		return
	}
	child = copyWithout(child, key)
	if len(child) == 0 {
		delete(parent, field)
		return
	}
	parent[field] = child
}

func copyWithout(object map[string]any, fields ...string) map[string]any {
	result := make(map[string]any, len(object))
	for key, value := range object {
		if !slices.Contains(fields, key) {
			result[key] = value
		}
	}
	return result
}

type changeList struct{ items []corev1alpha1.FieldChange }

func (c *changeList) compareMaps(p place, path string, from, to map[string]any) {
	keys := make([]string, 0, len(from)+len(to))
	for key := range from {
		keys = append(keys, key)
	}
	for key := range to {
		if _, both := from[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		a, inFrom := from[key]
		b, inTo := to[key]
		c.compare(p.field(key, from, to), path+"/"+escape(key), a, inFrom, b, inTo)
	}
}

func (c *changeList) compare(p place, path string, from any, inFrom bool, to any, inTo bool) {
	if inFrom && inTo && reflect.DeepEqual(from, to) {
		return
	}
	p = p.at(from, to)
	fromMap, fromIsMap := from.(map[string]any)
	toMap, toIsMap := to.(map[string]any)
	if path == "/metadata/labels" || path == "/metadata/annotations" { // none are as good as an empty map
		fromIsMap, toIsMap = fromIsMap || from == nil, toIsMap || to == nil
	}
	if fromIsMap && toIsMap {
		c.compareMaps(p, path, fromMap, toMap)
		return
	}
	fromList, fromIsList := from.([]any)
	toList, toIsList := to.([]any)
	if fromIsList && toIsList {
		for i := range max(len(fromList), len(toList)) {
			a, inA := at(fromList, i)
			b, inB := at(toList, i)
			c.compare(p.item(), path+"/"+strconv.Itoa(i), a, inA, b, inB)
		}
		return
	}
	change := corev1alpha1.FieldChange{Path: path}
	if inFrom {
		change.From = shown(p, from, Masked)
	}
	if inTo {
		change.To = shown(p, to, maskedChanged)
	}
	if change.From != change.To {
		c.items = append(c.items, change)
	}
}

// shown is a value at a place as JSON, or a text in its place.
func shown(p place, value any, hidden string) string {
	if p.hidden {
		return hidden
	}
	return encode(maskValue(p, value, nil))
}

func at(list []any, i int) (any, bool) {
	if i < len(list) {
		return list[i], true
	}
	return nil, false
}

func encode(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "(not encodable)"
	}
	return string(data)
}

// escape makes a key a token of a JSON pointer (RFC 6901), and unescape the reverse.
func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

func unescape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
