// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// ownership is what one field manager owns of an object, in the form of FieldsV1.
type ownership struct {
	manager string
	at      time.Time
	fields  map[string]any
}

// nameManagers fills in the managers of changed fields: who owns the field in the live
// object, where that is not convoy. Of several the last that wrote is named.
func nameManagers(live *unstructured.Unstructured, changes []corev1alpha1.FieldChange) {
	owners := othersOf(live)
	for i := range changes {
		var latest time.Time
		tokens := strings.Split(strings.TrimPrefix(changes[i].Path, "/"), "/")
		for _, owner := range owners {
			if !owner.at.Before(latest) && covers(owner.fields, live.Object, tokens) {
				changes[i].Manager, latest = owner.manager, owner.at
			}
		}
	}
}

func othersOf(live *unstructured.Unstructured) []ownership {
	var owners []ownership
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == corev1alpha1.FieldManager || entry.Subresource == "status" {
			continue
		}
		owner := ownership{manager: entry.Manager, fields: fieldsOf(entry)}
		if entry.Time != nil {
			owner.at = entry.Time.Time
		}
		if owner.fields != nil {
			owners = append(owners, owner)
		}
	}
	return owners
}
