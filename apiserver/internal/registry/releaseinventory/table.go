// SPDX-License-Identifier: Apache-2.0

package releaseinventory

import (
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
)

func columns() []resource.Column[*corev1alpha1.ReleaseInventory] {
	return []resource.Column[*corev1alpha1.ReleaseInventory]{
		{
			Name: "Release", Description: "Release whose objects these are.",
			Cell: func(i *corev1alpha1.ReleaseInventory, _ time.Time) any { return i.Spec.ReleaseRef.Name },
		},
		{
			Name: "Objects", Type: "integer", Description: "Number of objects.",
			Cell: func(i *corev1alpha1.ReleaseInventory, _ time.Time) any { return int64(len(i.Spec.Entries)) },
		},
		count("Healthy", false, func(s corev1alpha1.HealthSummary) int32 { return s.Healthy }),
		count("Progressing", false, func(s corev1alpha1.HealthSummary) int32 { return s.Progressing }),
		count("Degraded", false, func(s corev1alpha1.HealthSummary) int32 { return s.Degraded }),
		count("Missing", false, func(s corev1alpha1.HealthSummary) int32 { return s.Missing }),
		count("Suspended", true, func(s corev1alpha1.HealthSummary) int32 { return s.Suspended }),
		count("Unknown", true, func(s corev1alpha1.HealthSummary) int32 { return s.Unknown }),
	}
}

// count is a column with the number of objects of one health; empty before health is known.
func count(name string, wide bool, of func(corev1alpha1.HealthSummary) int32) resource.Column[*corev1alpha1.ReleaseInventory] {
	return resource.Column[*corev1alpha1.ReleaseInventory]{
		Name: name, Type: "integer", Wide: wide, Description: "Number of objects with this health.",
		Cell: func(i *corev1alpha1.ReleaseInventory, _ time.Time) any {
			if i.Status.Summary == nil {
				return nil
			}
			return int64(of(*i.Status.Summary))
		},
	}
}
