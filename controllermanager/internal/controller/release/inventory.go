// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
)

// writeEntries makes the entries those of the inventory, which it creates when there is
// none, on as many pages as they need. mark is the request that they answer, if any. Entries are sorted by key.
//
// The inventory belongs to the Release, so that nothing is left of it when the Release is
// gone, but has a finalizer of its own: deleted with its namespace, by hand, or before its
// owner, it still tells what is to be removed.
func (c *Controller) writeEntries(ctx context.Context, s *scope, entries []corev1alpha1.InventoryEntry, mark string) error {
	divided, err := inventory.Paginate(s.present(), s.ofThisSpec(entries))
	switch {
	case err != nil:
		return err
	case len(divided) > 1 || len(s.pages) > 1:
		return c.writePages(ctx, s, divided, mark)
	case len(s.pages) == 0:
		return c.createPage(ctx, s, divided[0], mark)
	}
	return c.updatePage(ctx, s, 0, divided[0], mark)
}

// setEntries has the inventory of the scope say what was found out, or done, on the target. It
// is written once, when the pass is over, or together with the next hook: a process that dies
// before that leaves one that names objects that are gone, or that are to be sent once more.
func (s *scope) setEntries(entries []corev1alpha1.InventoryEntry) {
	whole := *s.inventory
	whole.Spec.Entries = entries
	s.inventory, s.unwritten = &whole, true
}

// writeUnwritten writes what the inventory of the scope says and its pages do not.
func (c *Controller) writeUnwritten(ctx context.Context, s *scope) error {
	if !s.unwritten || s.finished {
		return nil
	}
	return c.writeEntries(ctx, s, s.entries(), "")
}

// sameSpec tells whether the inventory speaks of the Release's present spec.
func (s *scope) sameSpec() bool {
	return s.inventory != nil && s.inventory.Spec.ReleaseGeneration == s.release.Generation
}

// ofThisSpec gives entries as they count for the Release's present spec: what is known of an
// object that was applied by another one, which may have ignored other fields of it, is no
// more than that.
func (s *scope) ofThisSpec(entries []corev1alpha1.InventoryEntry) []corev1alpha1.InventoryEntry {
	if s.inventory == nil || s.sameSpec() {
		return entries
	}
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].ResourceVersion = ""
	}
	return entries
}

// present gives the entries of the pages, page by page.
func (s *scope) present() [][]corev1alpha1.InventoryEntry {
	present := make([][]corev1alpha1.InventoryEntry, len(s.pages))
	for n, page := range s.pages {
		present[n] = page.Spec.Entries
	}
	return present
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
	if err := c.writeEntries(ctx, s, entries, mark); err != nil {
		return abort(err)
	}
	return next()
}

// own makes a page of an inventory the Release's. It says nothing of the deletion of an earlier one then.
func own(page *corev1alpha1.ReleaseInventory, release *corev1alpha1.Release) {
	page.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(release, corev1alpha1.SchemeGroupVersion.WithKind("Release")),
	}
	if page.DeletionTimestamp.IsZero() && !slices.Contains(page.Finalizers, corev1alpha1.FinalizerRelease) {
		page.Finalizers = append(page.Finalizers, corev1alpha1.FinalizerRelease)
	}
	page.Spec.ReleaseRef = corev1alpha1.ReleaseReference{Name: release.Name, UID: release.UID}
	page.Spec.ReleaseGeneration = release.Generation
	if release.DeletionTimestamp.IsZero() {
		delete(page.Annotations, annotationDeletion)
	}
}

// dropInventory deletes the pages of the inventory together with their finalizers, the first
// one last: the others are found by it.
func (c *Controller) dropInventory(ctx context.Context, s *scope) error {
	if err := c.knowsAllPages(ctx, s); err != nil {
		return err
	}
	for len(s.pages) > 0 {
		if err := c.dropLastPage(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
