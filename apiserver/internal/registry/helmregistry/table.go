// SPDX-License-Identifier: Apache-2.0

package helmregistry

import (
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
)

func columns() []resource.Column[*sourcev1alpha1.HelmRegistry] {
	return []resource.Column[*sourcev1alpha1.HelmRegistry]{
		{
			Name: "URL", Description: "Where the source is.",
			Cell: func(o *sourcev1alpha1.HelmRegistry, _ time.Time) any { return o.Spec.URL },
		},
		{
			Name: "Ready", Description: "Whether the source answers and accepts the credentials.",
			Cell: func(o *sourcev1alpha1.HelmRegistry, _ time.Time) any {
				return resource.ConditionStatus(o.Status.Conditions, corev1alpha1.ConditionReady)
			},
		},
		{
			Name: "Charts", Type: "integer", Wide: true, Description: "Number of charts in the index.",
			Cell: func(o *sourcev1alpha1.HelmRegistry, _ time.Time) any { return int64(o.Status.Charts) },
		},
		{
			Name: "Checked", Wide: true, Description: "How long ago the source was last asked.",
			Cell: func(o *sourcev1alpha1.HelmRegistry, now time.Time) any {
				return resource.Since(o.Status.LastCheckTime, now)
			},
		},
		{
			Name: "Message", Wide: true, Description: "What the condition Ready says.",
			Cell: func(o *sourcev1alpha1.HelmRegistry, _ time.Time) any {
				return resource.ConditionMessage(o.Status.Conditions, corev1alpha1.ConditionReady)
			},
		},
	}
}
