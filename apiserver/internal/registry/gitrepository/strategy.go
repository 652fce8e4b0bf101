// SPDX-License-Identifier: Apache-2.0

// Package gitrepository is how GitRepository objects are validated, stored and printed.
package gitrepository

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

func kind(shards shardlabel.Labeler) *resource.Kind[*sourcev1alpha1.GitRepository] {
	return &resource.Kind[*sourcev1alpha1.GitRepository]{
		GroupVersion: sourcev1alpha1.SchemeGroupVersion,
		Name:         "GitRepository",
		Plural:       "gitrepositories",
		Singular:     "gitrepository",
		ShortNames:   []string{"cgit"},
		New:          func() *sourcev1alpha1.GitRepository { return &sourcev1alpha1.GitRepository{} },
		NewList:      func() runtime.Object { return &sourcev1alpha1.GitRepositoryList{} },
		Parts: resource.PartsOf(
			func(o *sourcev1alpha1.GitRepository) *sourcev1alpha1.GitRepositorySpec { return &o.Spec },
			func(o *sourcev1alpha1.GitRepository) *sourcev1alpha1.GitRepositoryStatus { return &o.Status },
		),
		Default: defaulting.GitRepository,
		Label: func(_ context.Context, o *sourcev1alpha1.GitRepository) {
			shards.Set(o, shard.SourceKey("GitRepository", o.Namespace, o.Name))
		},
		Validate: func(_ context.Context, o, _ *sourcev1alpha1.GitRepository) field.ErrorList {
			return validation.GitRepository(o)
		},
		ValidateStatus: validation.GitRepositoryStatus,
		Warnings:       validation.GitRepositoryWarnings,
		Columns:        columns(),
	}
}
