// SPDX-License-Identifier: Apache-2.0

// Package healthruleset is how HealthRuleSet objects are validated, stored and printed.
package healthruleset

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/validation"
)

// kind has no shard label: every replica of the observer needs every rule.
func kind() *resource.Kind[*extv1alpha1.HealthRuleSet] {
	return &resource.Kind[*extv1alpha1.HealthRuleSet]{
		GroupVersion: extv1alpha1.SchemeGroupVersion,
		Name:         "HealthRuleSet",
		Plural:       "healthrulesets",
		Singular:     "healthruleset",
		ShortNames:   []string{"chrs"},
		New:          func() *extv1alpha1.HealthRuleSet { return &extv1alpha1.HealthRuleSet{} },
		NewList:      func() runtime.Object { return &extv1alpha1.HealthRuleSetList{} },
		Parts: resource.PartsOf(
			func(o *extv1alpha1.HealthRuleSet) *extv1alpha1.HealthRuleSetSpec { return &o.Spec },
			func(o *extv1alpha1.HealthRuleSet) *extv1alpha1.HealthRuleSetStatus { return &o.Status },
		),
		Validate: func(_ context.Context, o, _ *extv1alpha1.HealthRuleSet) field.ErrorList {
			return validation.HealthRuleSet(o)
		},
		ValidateStatus: validation.HealthRuleSetStatus,
		Columns:        columns(),
	}
}
