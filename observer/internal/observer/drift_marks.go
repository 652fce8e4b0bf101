// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// givenUp tells whether another Release's mark on an object counts for nothing, so that a sync
// takes the object back: there is no such Release, or its inventory does not have the object.
// Whoever can write to the object can write any mark. What cannot be told counts.
func (c *Controller) givenUp(ctx context.Context, mark string, key corev1alpha1.ObjectKey) bool {
	installation, namespace, name, ok := corev1alpha1.ParseReleaseAnnotation(mark)
	if !ok || installation != c.Installation {
		return false
	}
	other := types.NamespacedName{Namespace: namespace, Name: name}
	_, err := c.Release(ctx, other)
	if pages, unknown := c.Inventory(ctx, other); err == nil && unknown == nil && pages.have(key) {
		return false
	}
	// The caches may be behind: only the host can tell that somebody has nothing.
	release, err := c.Client.CoreV1alpha1().Releases(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	pages, err := pagesOf(ctx, other, c.readPage)
	if apierrors.IsNotFound(err) { // one that applied something, and lost its inventory, has everything
		return release.Status.Applied == nil || release.Status.Applied.Objects == 0
	}
	return err == nil && !pages.have(key)
}

// have tells whether an inventory has an object, in whatever version of its kind.
func (p Pages) have(key corev1alpha1.ObjectKey) bool {
	return slices.ContainsFunc(p.Entries(), func(entry corev1alpha1.InventoryEntry) bool { return identity(entry.ObjectKey) == identity(key) })
}
