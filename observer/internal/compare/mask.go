// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"slices"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// The texts that stand for a secret value. They are the same for every value, so that they
// tell neither the value nor its length.
const (
	masked        = "(masked)"
	maskedChanged = "(masked, changed)"
)

// lastApplied is the annotation in which kubectl apply keeps a copy of the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// IsSecret tells whether the values of an object of this kind must not be shown.
func IsSecret(key corev1alpha1.ObjectKey) bool {
	return key.Group == "" && key.Kind == "Secret"
}

// shownOfSecret are the fields of a Secret that tell no value. All others are masked, those
// too that a Secret has not, because somebody may have written a value in the wrong place.
var shownOfSecret = []string{"apiVersion", "kind", "metadata", "type", "immutable"}

// MaskObject returns the object with every value of a Secret replaced; objects of other
// kinds are returned as they are. The argument is not changed.
func MaskObject(key corev1alpha1.ObjectKey, object map[string]any) map[string]any {
	if object == nil || !IsSecret(key) {
		return object
	}
	result := copyWithout(object)
	for field, value := range result {
		if !slices.Contains(shownOfSecret, field) {
			result[field] = hidden(value)
		}
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = copyWithout(metadata)
		removeKey(metadata, "annotations", lastApplied)
		result["metadata"] = metadata
	}
	return result
}

// hidden is a field of a Secret without values: of a map the keys stay.
func hidden(value any) any {
	values, ok := value.(map[string]any)
	if !ok {
		return masked
	}
	names := make(map[string]any, len(values))
	for name := range values {
		names[name] = masked
	}
	return names
}

// MaskChanges hides the values of changes to a Secret's data; that a value was added,
// changed or removed stays visible.
func MaskChanges(key corev1alpha1.ObjectKey, changes []corev1alpha1.FieldChange) []corev1alpha1.FieldChange {
	if !IsSecret(key) {
		return changes
	}
	result := make([]corev1alpha1.FieldChange, 0, len(changes))
	for _, change := range changes {
		if secretPath(change.Path) {
			if change.From != "" {
				change.From = masked
			}
			if change.To != "" {
				change.To = maskedChanged
			}
		}
		result = append(result, change)
	}
	return result
}

// secretPath tells whether a change at the path can show a value. Annotations can, since
// kubectl keeps copies of objects in one.
func secretPath(path string) bool {
	field, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if field == "metadata" {
		return rest == "" || rest == "annotations" || strings.HasPrefix(rest, "annotations/")
	}
	return !slices.Contains(shownOfSecret, field)
}
