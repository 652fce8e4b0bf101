// SPDX-License-Identifier: Apache-2.0

// Package releaseinventory is how ReleaseInventory objects are validated, stored and printed.
package releaseinventory

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
	"kumodo.io/convoy/apiserver/internal/validation"
	"kumodo.io/convoy/internal/shard"
)

// Releases reads the Releases of the namespace in the context.
type Releases interface {
	Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error)
}

func kind(shards shardlabel.Labeler, releases Releases) *resource.Kind[*corev1alpha1.ReleaseInventory] {
	return &resource.Kind[*corev1alpha1.ReleaseInventory]{
		GroupVersion: corev1alpha1.SchemeGroupVersion,
		Name:         "ReleaseInventory",
		Plural:       "releaseinventories",
		Singular:     "releaseinventory",
		ShortNames:   []string{"relinv"},
		New:          func() *corev1alpha1.ReleaseInventory { return &corev1alpha1.ReleaseInventory{} },
		NewList:      func() runtime.Object { return &corev1alpha1.ReleaseInventoryList{} },
		Parts: resource.PartsOf(
			func(i *corev1alpha1.ReleaseInventory) *corev1alpha1.ReleaseInventorySpec { return &i.Spec },
			func(i *corev1alpha1.ReleaseInventory) *corev1alpha1.ReleaseInventoryStatus { return &i.Status },
		),
		Label: labeler{shards: shards, releases: releases}.set,
		Validate: func(_ context.Context, i, _ *corev1alpha1.ReleaseInventory) field.ErrorList {
			return validation.ReleaseInventory(i)
		},
		ValidateUpdate: validation.ReleaseInventoryUpdate,
		ValidateStatus: validation.ReleaseInventoryStatus,
		Selectable: map[string]func(*corev1alpha1.ReleaseInventory) string{
			"spec.releaseRef.name": func(i *corev1alpha1.ReleaseInventory) string { return i.Spec.ReleaseRef.Name },
		},
		Columns: columns(),
	}
}

// labeler puts an inventory into the shard of its Release, which is that of the Release's
// cluster. The inventory does not name the cluster, so the Release is looked up, in the
// watch cache and thus at no cost to speak of. Copying the name of the cluster into the
// inventory instead would let the two differ.
type labeler struct {
	shards   shardlabel.Labeler
	releases Releases
}

// set sets the shard label. The inventory of a Release that is gone keeps the label that it
// has, so that whoever worked on it finishes its work; one that never had a Release gets a
// shard of its own name.
func (l labeler) set(ctx context.Context, i *corev1alpha1.ReleaseInventory) {
	if release := l.release(ctx, i.Spec.ReleaseRef.Name); release != nil {
		l.shards.Set(i, shard.ReleaseKey(release.Namespace, release.Spec.ClusterRef.Name))
		return
	}
	if !l.shards.Keep(i) {
		l.shards.Set(i, shard.ReleaseKey(i.Namespace, i.Spec.ReleaseRef.Name))
	}
}

// release looks into the watch cache, and into the storage for a Release that another
// replica stored so lately that the cache has not heard of it.
func (l labeler) release(ctx context.Context, name string) *corev1alpha1.Release {
	if name == "" {
		return nil
	}
	obj, err := l.releases.Get(ctx, name, &metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		obj, err = l.releases.Get(ctx, name, &metav1.GetOptions{})
	}
	if err != nil {
		return nil
	}
	release, _ := obj.(*corev1alpha1.Release)
	return release
}
