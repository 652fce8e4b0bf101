// SPDX-License-Identifier: Apache-2.0

// Package release is how Release objects are validated, stored and printed, and what their
// subresources do.
package release

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/defaulting"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
	"kumodo.io/convoy/apiserver/internal/validation"
	"kumodo.io/convoy/internal/shard"
)

// kind describes Releases. A Release is in the shard of its cluster, and nothing about the
// order of a cluster's Releases crosses shards. The reader looks up what a Release depends on.
func kind(shards shardlabel.Labeler, releases Reader) *resource.Kind[*corev1alpha1.Release] {
	return &resource.Kind[*corev1alpha1.Release]{
		GroupVersion: corev1alpha1.SchemeGroupVersion,
		Name:         "Release",
		Plural:       "releases",
		Singular:     "release",
		ShortNames:   []string{"rel"},
		New:          func() *corev1alpha1.Release { return &corev1alpha1.Release{} },
		NewList:      func() runtime.Object { return &corev1alpha1.ReleaseList{} },
		Parts: resource.PartsOf(
			func(r *corev1alpha1.Release) *corev1alpha1.ReleaseSpec { return &r.Spec },
			func(r *corev1alpha1.Release) *corev1alpha1.ReleaseStatus { return &r.Status },
		),
		Default: defaulting.Release,
		Label: func(_ context.Context, r *corev1alpha1.Release) {
			shards.Set(r, shard.ReleaseKey(r.Namespace, r.Spec.ClusterRef.Name))
		},
		Sign:   signRequest,
		Signed: []fieldpath.Path{fieldpath.MakePathOrDie("metadata", "annotations", corev1alpha1.AnnotationSyncRequestedBy)},
		Validate: func(ctx context.Context, r, old *corev1alpha1.Release) field.ErrorList {
			errs := validation.Release(r)
			if mayMakeCycle(r, old) {
				errs = append(errs, dependencyCycles(ctx, releases, r)...)
			}
			return errs
		},
		ValidateUpdate: validation.ReleaseUpdate,
		ValidateStatus: validation.ReleaseStatus,
		Warnings:       validation.ReleaseWarnings,
		Selectable:     selectable(),
		Columns:        columns(),
	}
}

// selectable are the references of a Release, by which controllers find the Releases of a
// cluster or of a source.
func selectable() map[string]func(*corev1alpha1.Release) string {
	return map[string]func(*corev1alpha1.Release) string{
		"spec.clusterRef.name": func(r *corev1alpha1.Release) string { return r.Spec.ClusterRef.Name },
		"spec.source.git.repositoryRef.name": func(r *corev1alpha1.Release) string {
			if r.Spec.Source.Git == nil {
				return ""
			}
			return r.Spec.Source.Git.RepositoryRef.Name
		},
		"spec.source.helm.registryRef.name": func(r *corev1alpha1.Release) string {
			if r.Spec.Source.Helm == nil {
				return ""
			}
			return r.Spec.Source.Helm.RegistryRef.Name
		},
		"spec.source.oci.registryRef.name": func(r *corev1alpha1.Release) string {
			if r.Spec.Source.OCI == nil {
				return ""
			}
			return r.Spec.Source.OCI.RegistryRef.Name
		},
	}
}
