// SPDX-License-Identifier: Apache-2.0

package ociregistry

import (
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
)

func columns() []resource.Column[*sourcev1alpha1.OCIRegistry] {
	return []resource.Column[*sourcev1alpha1.OCIRegistry]{
		{
			Name: "URL", Description: "Where the source is.",
			Cell: func(o *sourcev1alpha1.OCIRegistry, _ time.Time) any { return o.Spec.URL },
		},
		{
			Name: "Ready", Description: "Whether the source answers and accepts the credentials.",
			Cell: func(o *sourcev1alpha1.OCIRegistry, _ time.Time) any {
				return resource.ConditionStatus(o.Status.Conditions, corev1alpha1.ConditionReady)
			},
		},
		{
			Name: "Provider", Wide: true, Description: "How credentials are made.",
			Cell: func(o *sourcev1alpha1.OCIRegistry, _ time.Time) any { return string(o.Spec.Provider) },
		},
		{
			Name: "Checked", Wide: true, Description: "How long ago the source was last asked.",
			Cell: func(o *sourcev1alpha1.OCIRegistry, now time.Time) any {
				return resource.Since(o.Status.LastCheckTime, now)
			},
		},
		{
			Name: "Message", Wide: true, Description: "What the condition Ready says.",
			Cell: func(o *sourcev1alpha1.OCIRegistry, _ time.Time) any {
				return resource.ConditionMessage(o.Status.Conditions, corev1alpha1.ConditionReady)
			},
		},
	}
}
