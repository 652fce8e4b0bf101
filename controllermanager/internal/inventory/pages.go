// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const (
	// PageBytes bounds the entries of one page of an inventory. etcd refuses requests of more
	// than 1.5 MiB as it is configured by default. In the same object, the observer writes the
	// health of the entries: their keys again, which is at most as much less as an entry has a
	// UID and a digest, and 256 KiB of messages.
	PageBytes = 640 << 10
	// MaxPages bounds an inventory.
	MaxPages = 64

	// entryBytes are those of an entry as JSON without its group, version, kind, namespace,
	// name and hook.
	entryBytes = 297
)

// TooLargeError says that an inventory has more entries than fit into MaxPages pages.
type TooLargeError struct {
	// Entries of the inventory, and how many of them fit.
	Entries, Fit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a Release cannot have %d objects: with names as long as these, about %d fit into its inventory (%d pages of %d KiB); divide it into several Releases",
		e.Entries, e.Fit, MaxPages, PageBytes>>10)
}

// bytes is how much room an entry takes at most, whatever is known of its object.
func bytes(e corev1alpha1.InventoryEntry) int {
	return entryBytes + len(e.Group) + len(e.Version) + len(e.Kind) + len(e.Namespace) + len(e.Name) + len(e.Hook)
}

// Paginate divides entries, which are sorted by Key, among pages. An entry that is on one of
// the present pages stays on it, so that no order in which pages are written can lose one,
// and only pages with something new are to be written. New entries go where there is room, and
// then onto further pages. Empty pages at the end are left out; there is always a first one.
// The error is a *TooLargeError.
func Paginate(present [][]corev1alpha1.InventoryEntry, entries []corev1alpha1.InventoryEntry) ([][]corev1alpha1.InventoryEntry, error) {
	at := map[string]int{}
	for page, on := range present {
		for _, e := range on {
			at[Key(e)] = page
		}
	}
	pages := make([][]corev1alpha1.InventoryEntry, max(len(present), 1))
	sizes := make([]int, len(pages))
	var added []corev1alpha1.InventoryEntry
	for _, e := range entries {
		page, ok := at[Key(e)]
		if !ok {
			added = append(added, e)
			continue
		}
		pages[page], sizes[page] = append(pages[page], e), sizes[page]+bytes(e)
	}
	page := 0
	for i, e := range added {
		for page < len(pages) && sizes[page]+bytes(e) > PageBytes {
			page++
		}
		if page == MaxPages {
			return nil, &TooLargeError{Entries: len(entries), Fit: len(entries) - len(added) + i}
		}
		if page == len(pages) {
			pages, sizes = append(pages, nil), append(sizes, 0)
		}
		pages[page], sizes[page] = append(pages[page], e), sizes[page]+bytes(e)
	}
	for len(pages) > 1 && len(pages[len(pages)-1]) == 0 {
		pages = pages[:len(pages)-1]
	}
	for _, on := range pages {
		sorted(on)
	}
	return pages, nil
}
