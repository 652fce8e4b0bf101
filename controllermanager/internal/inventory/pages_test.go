// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// many gives n entries as they are once applied, with names of the given length.
func many(n, length int) []corev1alpha1.InventoryEntry {
	entries := make([]corev1alpha1.InventoryEntry, n)
	for i := range entries {
		name := fmt.Sprintf("%s%06d", strings.Repeat("n", length-6), i)
		entries[i] = corev1alpha1.InventoryEntry{
			ObjectKey: corev1alpha1.ObjectKey{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "a-namespace", Name: name},
			UID:       types.UID("1c3b43e0-39d4-426a-9a07-593efa3fe717"), Digest: "sha256:" + strings.Repeat("0", 64), ResourceVersion: "12345678", Stage: -1, Adopted: true,
		}
	}
	return entries
}

func flat(pages [][]corev1alpha1.InventoryEntry) []corev1alpha1.InventoryEntry {
	return sorted(slices.Concat(pages...))
}

// TestPagesFit measures what ends up in one object: entries, and the health of each.
func TestPagesFit(t *testing.T) {
	for _, length := range []int{12, 40, 253} {
		t.Run(fmt.Sprintf("names of %d bytes", length), func(t *testing.T) {
			g := gomega.NewWithT(t)
			entries := many(10_000, length)
			pages, err := Paginate(nil, entries)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(flat(pages)).To(gomega.Equal(entries), "nothing is lost")
			for i, page := range pages {
				inventory := corev1alpha1.ReleaseInventory{Spec: corev1alpha1.ReleaseInventorySpec{Entries: page}}
				for _, e := range page {
					inventory.Status.Health = append(inventory.Status.Health, corev1alpha1.ObjectHealth{ObjectKey: e.ObjectKey, Status: corev1alpha1.HealthProgressing})
				}
				data, err := json.Marshal(inventory)
				g.Expect(err).NotTo(gomega.HaveOccurred())
				since := len(page) * len(`"since":"2026-11-29T18:08:37Z",`)
				const messages, rest = 256 << 10, 16 << 10
				g.Expect(len(data)+since+messages+rest).To(gomega.BeNumerically("<", 1536<<10), "page %d of %d", i, len(pages))
				spec, err := json.Marshal(page)
				g.Expect(err).NotTo(gomega.HaveOccurred())
				g.Expect(len(spec)).To(gomega.BeNumerically("<=", PageBytes))
				if i < len(pages)-1 {
					g.Expect(len(spec)).To(gomega.BeNumerically(">", PageBytes*8/10), "pages are filled")
				}
			}
			t.Logf("%d pages, %d entries on the first", len(pages), len(pages[0]))
		})
	}
}

func TestPaginateKeepsEntriesWhereTheyAre(t *testing.T) {
	g := gomega.NewWithT(t)
	entries := many(10_000, 40)
	before, err := Paginate(nil, entries)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(len(before)).To(gomega.BeNumerically(">", 3))

	// One goes from the first page, one changes on the second, one that sorts first is new.
	changed := slices.Clone(entries[1:])
	second := before[1][0]
	i := slices.IndexFunc(changed, func(e corev1alpha1.InventoryEntry) bool { return Key(e) == Key(second) })
	changed[i].Digest = ""
	added := entries[0]
	added.Name = "a"
	changed = sorted(append(changed, added))
	after, err := Paginate(before, changed)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(flat(after)).To(gomega.Equal(changed))
	g.Expect(after).To(gomega.HaveLen(len(before)))
	g.Expect(after[0]).To(gomega.Equal(append([]corev1alpha1.InventoryEntry{added}, before[0][1:]...)))
	g.Expect(after[1]).To(gomega.HaveLen(len(before[1])))
	for i := 2; i < len(before); i++ {
		g.Expect(after[i]).To(gomega.Equal(before[i]), "page %d is not to be written", i)
	}

	// What empties the last pages makes them go; what empties one in between does not.
	few, err := Paginate(before, append(slices.Clone(before[0]), before[2]...))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(few).To(gomega.HaveLen(3))
	g.Expect(few[1]).To(gomega.BeEmpty())
	none, err := Paginate(before, nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(none).To(gomega.Equal([][]corev1alpha1.InventoryEntry{nil}))
}

func TestPaginateRefusesWhatCannotFit(t *testing.T) {
	g := gomega.NewWithT(t)
	_, err := Paginate(nil, many(150_000, 200))
	var tooLarge *TooLargeError
	g.Expect(errors.As(err, &tooLarge)).To(gomega.BeTrue())
	g.Expect(tooLarge.Entries).To(gomega.Equal(150_000))
	fits, err := Paginate(nil, many(tooLarge.Fit, 200))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(fits).To(gomega.HaveLen(MaxPages))
}
