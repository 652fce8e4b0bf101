// SPDX-License-Identifier: Apache-2.0

// Package cluster is how Cluster objects are validated, stored and printed.
package cluster

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/defaulting"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
	"kumodo.io/convoy/apiserver/internal/validation"
	"kumodo.io/convoy/internal/shard"
)

func kind(shards shardlabel.Labeler) *resource.Kind[*corev1alpha1.Cluster] {
	return &resource.Kind[*corev1alpha1.Cluster]{
		GroupVersion: corev1alpha1.SchemeGroupVersion,
		Name:         "Cluster",
		Plural:       "clusters",
		Singular:     "cluster",
		ShortNames:   []string{"ccl"},
		New:          func() *corev1alpha1.Cluster { return &corev1alpha1.Cluster{} },
		NewList:      func() runtime.Object { return &corev1alpha1.ClusterList{} },
		Parts: resource.PartsOf(
			func(o *corev1alpha1.Cluster) *corev1alpha1.ClusterSpec { return &o.Spec },
			func(o *corev1alpha1.Cluster) *corev1alpha1.ClusterStatus { return &o.Status },
		),
		Default: defaulting.Cluster,
		Label: func(_ context.Context, o *corev1alpha1.Cluster) {
			shards.Set(o, shard.ClusterKey(o.Namespace, o.Name))
		},
		Validate:       func(_ context.Context, o, _ *corev1alpha1.Cluster) field.ErrorList { return validation.Cluster(o) },
		ValidateStatus: validation.ClusterStatus,
		Warnings:       validation.ClusterWarnings,
		Columns:        columns(),
	}
}
