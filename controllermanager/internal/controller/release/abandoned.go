// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// endAbandoned ends an inventory that is being deleted and whose Release is gone: somebody took
// the Release's finalizer off, and nobody will take off the inventory's, which would hold up
// its namespace, too. What is in it stays in the target; people are told.
func (c *Controller) endAbandoned(ctx context.Context, key types.NamespacedName) error {
	s := &scope{key: key}
	s.setPages(c.cachedPages(key))
	if s.inventory == nil || !slices.ContainsFunc(s.pages, func(page *corev1alpha1.ReleaseInventory) bool { return !page.DeletionTimestamp.IsZero() }) {
		return nil
	}
	_, err := c.config.Client.CoreV1alpha1().Releases(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return err // nil: it is there, and the cache will know, or that of who has its shard
	}
	// With its last word nothing labels a page anew that is in another shard than the others.
	pages, err := c.readPages(ctx, key)
	if err != nil || len(pages) == 0 {
		return err
	}
	s.setPages(pages)
	s.release = &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: s.inventory.Spec.ReleaseRef.UID}}
	if len(s.entries()) > 0 {
		left := whatStays(s.entries())
		klog.FromContext(ctx).Info("A Release is gone without its deletion having been completed; objects are left in the target cluster", "objects", left)
		c.tell(s, notice{warning: true, reason: "Orphaned", message: fmt.Sprintf(
			"left in the cluster with the marks of this Release, whose finalizer was taken off: %s", left)})
	}
	return c.dropInventory(ctx, s)
}
