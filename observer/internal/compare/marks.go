// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// marks lists the marks of convoy in which a live object differs from what applying makes of
// it. Fields leaves them out, as nobody desires them; but without them an object is watched
// and deleted by nobody.
func marks(live, applied *unstructured.Unstructured) []corev1alpha1.FieldChange {
	var changes []corev1alpha1.FieldChange
	for _, mark := range []struct {
		field, name string
		from, to    map[string]string
	}{
		{"annotations", corev1alpha1.AnnotationRelease, live.GetAnnotations(), applied.GetAnnotations()},
		{"labels", corev1alpha1.LabelOwner, live.GetLabels(), applied.GetLabels()},
	} {
		from, had := mark.from[mark.name]
		to, has := mark.to[mark.name]
		if had == has && from == to {
			continue
		}
		change := corev1alpha1.FieldChange{Path: "/metadata/" + mark.field + "/" + escape(mark.name)}
		if had {
			change.From = encode(from)
		}
		if has {
			change.To = encode(to)
		}
		changes = append(changes, change)
	}
	return changes
}
