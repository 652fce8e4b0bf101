// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// ownedByConvoy are the fields that convoy applied, in the form of FieldsV1; nil: none.
func ownedByConvoy(live *unstructured.Unstructured) map[string]any {
	for _, entry := range live.GetManagedFields() {
		if isConvoys(entry) && entry.Operation == metav1.ManagedFieldsOperationApply {
			return fieldsOf(entry)
		}
	}
	return nil
}

// isConvoys tells the entries of what convoy wrote, whether or not by applying it.
func isConvoys(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == corev1alpha1.FieldManager && entry.Subresource == ""
}

// fieldsOf are the fields of an entry, in the form of FieldsV1; nil: none that can be read.
func fieldsOf(entry metav1.ManagedFieldsEntry) map[string]any {
	var fields map[string]any
	if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
		return nil
	}
	return fields
}

// possession is an object with what convoy wrote of it, in the form of FieldsV1.
type possession struct {
	object map[string]any
	fields []map[string]any
}

func possessionOf(object *unstructured.Unstructured) possession {
	p := possession{object: object.Object}
	for _, entry := range object.GetManagedFields() {
		if fields := fieldsOf(entry); isConvoys(entry) && len(fields) > 0 {
			p.fields = append(p.fields, fields)
		}
	}
	return p
}

// has tells whether convoy owns something at a JSON pointer into an object.
func (p possession) has(object map[string]any, tokens []string) bool {
	return slices.ContainsFunc(p.fields, func(fields map[string]any) bool { return covers(fields, object, tokens) })
}

// withoutOthers leaves out the changes that a dry run made of a live object in fields
// that are not convoy's: they are a webhook's. A field is convoy's that it owns, before or after,
// by itself or with the list or map that it is in, and one that is taken out of a list or map in
// which convoy has something. Of a result that does not say who owns it all changes count.
func withoutOthers(live, result *unstructured.Unstructured, changes []corev1alpha1.FieldChange) []corev1alpha1.FieldChange {
	before, after := possessionOf(live), possessionOf(result)
	if len(after.fields) == 0 {
		return changes
	}
	return slices.DeleteFunc(changes, func(change corev1alpha1.FieldChange) bool {
		tokens := strings.Split(strings.TrimPrefix(change.Path, "/"), "/")
		if after.has(result.Object, tokens) || before.has(live.Object, tokens) {
			return false
		}
		parent := tokens[:len(tokens)-1]
		return change.To != "" || len(parent) == 0 || !after.has(live.Object, parent) && !after.has(result.Object, parent)
	})
}

// covers tells whether fields of a value, in the form of FieldsV1, have the one at a JSON pointer,
// or something in it, or all of a list or map that it is in.
func covers(fields map[string]any, value any, tokens []string) bool {
	if len(tokens) == 0 || len(fields) == 0 {
		return true
	}
	token := unescape(tokens[0])
	within, _ := child(value, token)
	inner, ok := fields["f:"+token].(map[string]any)
	if _, isList := value.([]any); isList {
		inner, ok = ownedItem(fields, within)
	}
	return ok && covers(inner, within, tokens[1:])
}

// ownedItem are the owned fields of an item of a list, which FieldsV1 names by its keys or by its
// value; ok is false for one of which nothing is owned.
func ownedItem(owned map[string]any, item any) (fields map[string]any, ok bool) {
	for name, inner := range owned {
		kind, of, _ := strings.Cut(name, ":")
		inner, isFields := inner.(map[string]any)
		if isFields && (kind == "k" && isKeyOf(of, item) || kind == "v" && of == encode(item)) {
			return inner, true
		}
	}
	return nil, false
}

// isKeyOf tells whether a key of FieldsV1, a JSON object, is that of an item.
func isKeyOf(key string, item any) bool {
	values, _ := item.(map[string]any)
	var fields map[string]any
	if err := json.Unmarshal([]byte(key), &fields); err != nil {
		return false
	}
	for field, value := range fields {
		if encode(values[field]) != encode(value) {
			return false
		}
	}
	return true
}
