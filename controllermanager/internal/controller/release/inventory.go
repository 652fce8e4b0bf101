// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// newestInventory gives the newest known inventory of a Release, shared and not to be
// changed; nil when there is none.
func (c *Controller) newestInventory(release *corev1alpha1.Release) *corev1alpha1.ReleaseInventory {
	if cached := c.cachedInventory(release.Namespace, release.Name); cached != nil {
		return c.latestInventories.newest(cached)
	}
	written, ok := c.latestInventories.absent(nameOf(release))
	if !ok || written.Spec.ReleaseRef.UID != release.UID {
		return nil
	}
	return written
}

// writeEntries makes the entries those of the inventory, which it creates when there is
// none. mark is the request that they answer, if any. Entries are sorted by key.
//
// The inventory belongs to the Release, so that nothing is left of it when the Release is
// gone, but has a finalizer of its own: deleted with its namespace, by hand, or before its
// owner, it still tells what is to be removed.
func (c *Controller) writeEntries(ctx context.Context, s *scope, entries []corev1alpha1.InventoryEntry, mark string) error {
	if s.inventory == nil {
		return c.createInventory(ctx, s, entries, mark)
	}
	written, err := c.updateInventory(ctx, s, func(inventory *corev1alpha1.ReleaseInventory) {
		own(inventory, s.release)
		inventory.Spec.Entries = entries
		if mark != "" {
			metav1.SetMetaDataAnnotation(&inventory.ObjectMeta, annotationRequest, mark)
		}
	})
	if err != nil {
		return err
	}
	s.inventory = written
	c.latestInventories.wrote(written)
	return nil
}

// reviveInventory makes an inventory anew that was deleted while its Release was not. Until
// then it is of use as it is: its finalizer keeps it. It is not made anew before every entry
// is one of the render's, as applied: should the process die in between, the next sync
// brings the same entries, and nothing is lost of.
func (c *Controller) reviveInventory(ctx context.Context, s *scope) outcome {
	if s.inventory == nil || s.inventory.DeletionTimestamp.IsZero() || len(s.unapplied())+len(s.stale()) > 0 {
		return next()
	}
	// In a namespace that is being deleted, which takes the inventory first and the Release
	// soon, nothing can be created any more.
	terminating, err := c.config.Namespaces.Terminating(ctx, s.key.Namespace)
	if err != nil {
		return abort(fmt.Errorf("reading namespace %s: %w", s.key.Namespace, err))
	}
	if terminating {
		return next()
	}
	entries, mark := s.entries(), s.inventory.Annotations[annotationRequest]
	if err := c.dropInventory(ctx, s); err != nil {
		return abort(err)
	}
	if err := c.createInventory(ctx, s, entries, mark); err != nil {
		return abort(err)
	}
	return next()
}

func (c *Controller) createInventory(ctx context.Context, s *scope, entries []corev1alpha1.InventoryEntry, mark string) error {
	inventory := &corev1alpha1.ReleaseInventory{ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name}}
	own(inventory, s.release)
	inventory.Spec.Entries = entries
	if mark != "" {
		metav1.SetMetaDataAnnotation(&inventory.ObjectMeta, annotationRequest, mark)
	}
	written, err := c.config.Client.CoreV1alpha1().ReleaseInventories(s.key.Namespace).Create(ctx, inventory, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the inventory of Release %s: %w", s.key, err)
	}
	s.inventory = written
	c.latestInventories.wrote(written)
	return nil
}

// own makes an inventory the Release's.
func own(inventory *corev1alpha1.ReleaseInventory, release *corev1alpha1.Release) {
	inventory.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(release, corev1alpha1.SchemeGroupVersion.WithKind("Release")),
	}
	if inventory.DeletionTimestamp.IsZero() && !slices.Contains(inventory.Finalizers, corev1alpha1.FinalizerRelease) {
		inventory.Finalizers = append(inventory.Finalizers, corev1alpha1.FinalizerRelease)
	}
	inventory.Spec.ReleaseRef = corev1alpha1.ReleaseReference{Name: release.Name, UID: release.UID}
}

// updateInventory writes a changed inventory. The observer writes the status of the same
// object: when that is all that happened in between, the change is made again on top of
// it, for what an apply did must not get lost.
func (c *Controller) updateInventory(ctx context.Context, s *scope, change func(*corev1alpha1.ReleaseInventory)) (*corev1alpha1.ReleaseInventory, error) {
	client := c.config.Client.CoreV1alpha1().ReleaseInventories(s.key.Namespace)
	known := s.inventory
	base := known
	for tries := 0; ; tries++ {
		changed := base.DeepCopy()
		change(changed)
		written, err := client.Update(ctx, changed, metav1.UpdateOptions{})
		if err == nil {
			return written, nil
		}
		if apierrors.IsNotFound(err) {
			c.latestInventories.forget(s.key)
		}
		if !apierrors.IsConflict(err) || tries == 5 {
			return nil, fmt.Errorf("writing the inventory of Release %s: %w", s.key, err)
		}
		current, getErr := client.Get(ctx, s.key.Name, metav1.GetOptions{})
		if getErr != nil || current.UID != known.UID || !equality.Semantic.DeepEqual(current.Spec, known.Spec) {
			return nil, fmt.Errorf("writing the inventory of Release %s: %w", s.key, err)
		}
		base = current
	}
}

// dropInventory deletes the inventory together with its finalizer.
func (c *Controller) dropInventory(ctx context.Context, s *scope) error {
	if s.inventory == nil {
		return nil
	}
	client := c.config.Client.CoreV1alpha1().ReleaseInventories(s.key.Namespace)
	released, err := c.updateInventory(ctx, s, func(inventory *corev1alpha1.ReleaseInventory) {
		inventory.Finalizers = slices.DeleteFunc(inventory.Finalizers,
			func(f string) bool { return f == corev1alpha1.FinalizerRelease })
	})
	if err == nil && released.DeletionTimestamp.IsZero() {
		err = client.Delete(ctx, s.key.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &released.UID}})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the inventory of Release %s: %w", s.key, err)
	}
	s.inventory = nil
	c.latestInventories.forget(s.key)
	return nil
}
