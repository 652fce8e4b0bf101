// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Pages are the objects that make up the inventory of one Release, the first one first: a
// ReleaseInventory of the Release's name, and further ones with a dot and a number behind it
// when the entries do not fit into one. They are shared and not to be changed.
type Pages []*corev1alpha1.ReleaseInventory

// Inventory gives the inventory of a Release, whoever works on it. The error is NotFound when
// there is none.
func (h *Host) Inventory(ctx context.Context, release types.NamespacedName) (Pages, error) {
	pages, err := pagesOf(ctx, release, h.page)
	if h.Visited != nil && apierrors.IsNotFound(err) {
		return pagesOf(ctx, release, h.readPage)
	}
	return pages, err
}

// pagesOf gets the pages of an inventory one by one. The error is NotFound when there is none.
func pagesOf(ctx context.Context, release types.NamespacedName, get func(ctx context.Context, namespace, name string) (*corev1alpha1.ReleaseInventory, error)) (Pages, error) {
	first, err := get(ctx, release.Namespace, release.Name)
	if err != nil {
		return nil, err
	}
	pages := Pages{first}
	for {
		page, err := get(ctx, release.Namespace, fmt.Sprintf("%s.%d", release.Name, len(pages)))
		if apierrors.IsNotFound(err) {
			return pages, nil
		}
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
}

// ReleaseOf is the Release that a page is of.
func ReleaseOf(page *corev1alpha1.ReleaseInventory) types.NamespacedName {
	name := page.Spec.ReleaseRef.Name
	if name == "" {
		name = page.Name
	}
	return types.NamespacedName{Namespace: page.Namespace, Name: name}
}

// asApplied tells that an object, whose resourceVersion is known, is as it was applied by the
// Release's present spec: nobody has written to it since.
func (p Pages) asApplied(release *corev1alpha1.Release, entry corev1alpha1.InventoryEntry, version string) bool {
	return version != "" && version == entry.ResourceVersion && p[0].Spec.ReleaseGeneration == release.Generation
}

// Entries are those of all pages.
func (p Pages) Entries() []corev1alpha1.InventoryEntry {
	if len(p) == 1 {
		return p[0].Spec.Entries
	}
	lists := make([][]corev1alpha1.InventoryEntry, len(p))
	for i, page := range p {
		lists[i] = page.Spec.Entries
	}
	return slices.Concat(lists...)
}
