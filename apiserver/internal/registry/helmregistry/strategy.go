// SPDX-License-Identifier: Apache-2.0

// Package helmregistry is how HelmRegistry objects are validated, stored and printed.
package helmregistry

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/defaulting"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
	"kumodo.io/convoy/apiserver/internal/validation"
	"kumodo.io/convoy/internal/shard"
)

func kind(shards shardlabel.Labeler) *resource.Kind[*sourcev1alpha1.HelmRegistry] {
	return &resource.Kind[*sourcev1alpha1.HelmRegistry]{
		GroupVersion: sourcev1alpha1.SchemeGroupVersion,
		Name:         "HelmRegistry",
		Plural:       "helmregistries",
		Singular:     "helmregistry",
		ShortNames:   []string{"chelm"},
		New:          func() *sourcev1alpha1.HelmRegistry { return &sourcev1alpha1.HelmRegistry{} },
		NewList:      func() runtime.Object { return &sourcev1alpha1.HelmRegistryList{} },
		Parts: resource.PartsOf(
			func(o *sourcev1alpha1.HelmRegistry) *sourcev1alpha1.HelmRegistrySpec { return &o.Spec },
			func(o *sourcev1alpha1.HelmRegistry) *sourcev1alpha1.HelmRegistryStatus { return &o.Status },
		),
		Default: defaulting.HelmRegistry,
		Label: func(_ context.Context, o *sourcev1alpha1.HelmRegistry) {
			shards.Set(o, shard.SourceKey("HelmRegistry", o.Namespace, o.Name))
		},
		Validate: func(_ context.Context, o, _ *sourcev1alpha1.HelmRegistry) field.ErrorList {
			return validation.HelmRegistry(o)
		},
		ValidateStatus: validation.HelmRegistryStatus,
		Warnings:       validation.HelmRegistryWarnings,
		Columns:        columns(),
	}
}
