// SPDX-License-Identifier: Apache-2.0

// Package globalhealthruleset is how GlobalHealthRuleSet objects are validated, stored and printed.
package globalhealthruleset

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/validation"
)

// kind has no shard label: every replica of the observer needs every rule.
func kind() *resource.Kind[*extv1alpha1.GlobalHealthRuleSet] {
	return &resource.Kind[*extv1alpha1.GlobalHealthRuleSet]{
		GroupVersion:  extv1alpha1.SchemeGroupVersion,
		Name:          "GlobalHealthRuleSet",
		Plural:        "globalhealthrulesets",
		Singular:      "globalhealthruleset",
		ShortNames:    []string{"cghrs"},
		ClusterScoped: true,
		New:           func() *extv1alpha1.GlobalHealthRuleSet { return &extv1alpha1.GlobalHealthRuleSet{} },
		NewList:       func() runtime.Object { return &extv1alpha1.GlobalHealthRuleSetList{} },
		Parts: resource.PartsOf(
			func(o *extv1alpha1.GlobalHealthRuleSet) *extv1alpha1.HealthRuleSetSpec { return &o.Spec },
			func(o *extv1alpha1.GlobalHealthRuleSet) *extv1alpha1.HealthRuleSetStatus { return &o.Status },
		),
		Validate: func(_ context.Context, o, _ *extv1alpha1.GlobalHealthRuleSet) field.ErrorList {
			return validation.GlobalHealthRuleSet(o)
		},
		ValidateStatus: validation.GlobalHealthRuleSetStatus,
		Columns:        columns(),
	}
}
