// SPDX-License-Identifier: Apache-2.0

package healthruleset

import (
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
)

func columns() []resource.Column[*extv1alpha1.HealthRuleSet] {
	return []resource.Column[*extv1alpha1.HealthRuleSet]{
		{
			Name: "Rules", Type: "integer", Description: "Number of rules.",
			Cell: func(o *extv1alpha1.HealthRuleSet, _ time.Time) any { return int64(len(o.Spec.Rules)) },
		},
		{
			Name: "Ready", Description: "Whether every expression compiles.",
			Cell: func(o *extv1alpha1.HealthRuleSet, _ time.Time) any {
				return resource.ConditionStatus(o.Status.Conditions, corev1alpha1.ConditionReady)
			},
		},
		{
			Name: "Message", Wide: true, Description: "What the condition Ready says.",
			Cell: func(o *extv1alpha1.HealthRuleSet, _ time.Time) any {
				return resource.ConditionMessage(o.Status.Conditions, corev1alpha1.ConditionReady)
			},
		},
	}
}
