// SPDX-License-Identifier: Apache-2.0

// Package ociregistry is how OCIRegistry objects are validated, stored and printed.
package ociregistry

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

func kind(shards shardlabel.Labeler) *resource.Kind[*sourcev1alpha1.OCIRegistry] {
	return &resource.Kind[*sourcev1alpha1.OCIRegistry]{
		GroupVersion: sourcev1alpha1.SchemeGroupVersion,
		Name:         "OCIRegistry",
		Plural:       "ociregistries",
		Singular:     "ociregistry",
		ShortNames:   []string{"coci"},
		New:          func() *sourcev1alpha1.OCIRegistry { return &sourcev1alpha1.OCIRegistry{} },
		NewList:      func() runtime.Object { return &sourcev1alpha1.OCIRegistryList{} },
		Parts: resource.PartsOf(
			func(o *sourcev1alpha1.OCIRegistry) *sourcev1alpha1.OCIRegistrySpec { return &o.Spec },
			func(o *sourcev1alpha1.OCIRegistry) *sourcev1alpha1.OCIRegistryStatus { return &o.Status },
		),
		Default: defaulting.OCIRegistry,
		Label: func(_ context.Context, o *sourcev1alpha1.OCIRegistry) {
			shards.Set(o, shard.SourceKey("OCIRegistry", o.Namespace, o.Name))
		},
		Validate: func(_ context.Context, o, _ *sourcev1alpha1.OCIRegistry) field.ErrorList {
			return validation.OCIRegistry(o)
		},
		ValidateStatus: validation.OCIRegistryStatus,
		Warnings:       validation.OCIRegistryWarnings,
		Columns:        columns(),
	}
}
