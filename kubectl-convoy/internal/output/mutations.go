// SPDX-License-Identifier: Apache-2.0

package output

import (
	"cmp"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Mutations gives the table of a Release's mutations, in the order in which they are applied.
func Mutations(mutations []corev1alpha1.Mutation) *Table {
	table := NewTable("NAME", "TYPE", "OPTIONAL", "TARGET")
	for _, mutation := range mutations {
		table.Add(mutation.Name, string(cmp.Or(mutation.Type, corev1alpha1.MutationStrategic)), mutation.Optional, target(mutation.Target))
	}
	return table
}

// target says which objects a mutation is for.
func target(selector corev1alpha1.ObjectSelector) string {
	var parts []string
	for _, part := range []struct{ field, value string }{
		{"group", selector.Group}, {"version", selector.Version}, {"kind", selector.Kind}, {"namespace", selector.Namespace},
		{"name", selector.Name}, {"labels", selector.LabelSelector}, {"annotations", selector.AnnotationSelector},
	} {
		if part.value != "" {
			parts = append(parts, part.field+" "+part.value)
		}
	}
	if len(parts) == 0 {
		return "all objects"
	}
	return strings.Join(parts, ", ")
}
