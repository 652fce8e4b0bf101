// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Release gives a Release, whoever works on it, shared and not to be changed. The error is
// NotFound when there is none.
func (h *Host) Release(ctx context.Context, name types.NamespacedName) (*corev1alpha1.Release, error) {
	cached, err := h.Releases.Releases(name.Namespace).Get(name.Name)
	if h.Visited == nil || !apierrors.IsNotFound(err) {
		return cached, err
	}
	return h.Client.CoreV1alpha1().Releases(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

// cluster gives a Cluster. The error is NotFound when there is none.
func (h *Host) cluster(ctx context.Context, name types.NamespacedName) (*corev1alpha1.Cluster, error) {
	cached, err := h.Clusters.Clusters(name.Namespace).Get(name.Name)
	if h.Visited == nil || !apierrors.IsNotFound(err) {
		return cached, err
	}
	h.Visited(name)
	return h.Client.CoreV1alpha1().Clusters(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
}

// Neighbours gives all Releases on the Cluster of one, itself among them, shared and not to be
// changed.
func (h *Host) Neighbours(ctx context.Context, release *corev1alpha1.Release) ([]*corev1alpha1.Release, error) {
	if h.Visited != nil {
		// Where this one is, the others are: they are in the same shard.
		_, err := h.Releases.Releases(release.Namespace).Get(release.Name)
		if apierrors.IsNotFound(err) {
			return h.readNeighbours(ctx, release)
		}
	}
	all, err := h.Releases.Releases(release.Namespace).List(labels.Everything())
	if err != nil {
		return nil, err
	}
	var found []*corev1alpha1.Release
	for _, other := range all {
		if other.Spec.ClusterRef == release.Spec.ClusterRef {
			found = append(found, other)
		}
	}
	return found, nil
}

func (h *Host) readNeighbours(ctx context.Context, release *corev1alpha1.Release) ([]*corev1alpha1.Release, error) {
	list, err := h.Client.CoreV1alpha1().Releases(release.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.clusterRef.name", release.Spec.ClusterRef.Name).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("listing the Releases on Cluster %s/%s: %w", release.Namespace, release.Spec.ClusterRef.Name, err)
	}
	found := make([]*corev1alpha1.Release, len(list.Items))
	for i := range list.Items {
		found[i] = &list.Items[i]
	}
	return found, nil
}

// page gives one page of an inventory as it is cached.
func (h *Host) page(_ context.Context, namespace, name string) (*corev1alpha1.ReleaseInventory, error) {
	return h.Inventories.ReleaseInventories(namespace).Get(name)
}

// readPage reads one page of an inventory from the host.
func (h *Host) readPage(ctx context.Context, namespace, name string) (*corev1alpha1.ReleaseInventory, error) {
	return h.Client.CoreV1alpha1().ReleaseInventories(namespace).Get(ctx, name, metav1.GetOptions{})
}
