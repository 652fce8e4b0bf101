// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// Key is the identity of an entry as one string, "<group>/<kind>/<namespace>/<name>". No
// part of it can contain a slash, so two keys are equal only for the same object.
func Key(e corev1alpha1.InventoryEntry) string {
	return KeyOf(e.ObjectKey)
}

// KeyOf is Key for the key of an object.
func KeyOf(k corev1alpha1.ObjectKey) string {
	return k.Group + "/" + k.Kind + "/" + k.Namespace + "/" + k.Name
}

// FromObjects gives the entries of a render, sorted by Key: one for each object and one
// for the object of each hook. UID and Digest are empty, which is what an entry written
// ahead of its object says.
func FromObjects(objects []render.Object, hooks []render.Hook) []corev1alpha1.InventoryEntry {
	entries := make([]corev1alpha1.InventoryEntry, 0, len(objects)+len(hooks))
	for _, o := range objects {
		entries = append(entries, fromObject(o, ""))
	}
	for _, h := range hooks {
		entries = append(entries, fromObject(h.Object, h.Name))
	}
	return sorted(entries)
}

func fromObject(o render.Object, hook string) corev1alpha1.InventoryEntry {
	return corev1alpha1.InventoryEntry{ObjectKey: o.Key(), Stage: o.Stage, Hook: hook, Keep: o.Keep}
}

// Union is what has to be in the inventory before the first object of desired is sent:
// every entry of old and every entry of desired, sorted by Key.
//
// An entry that is in both takes its version, stage and hook from desired, and keeps the
// UID, digest and resourceVersion of what was last applied, unless desired knows them. It stays protected
// from deletion when either says so: until desired is applied, what was applied last
// still counts.
func Union(old, desired []corev1alpha1.InventoryEntry) []corev1alpha1.InventoryEntry {
	byKey := index(old)
	for _, d := range desired {
		if o, ok := byKey[Key(d)]; ok {
			d = merged(o, d)
		}
		byKey[Key(d)] = d
	}
	return values(byKey)
}

func merged(old, desired corev1alpha1.InventoryEntry) corev1alpha1.InventoryEntry {
	if desired.UID == "" {
		desired.UID = old.UID
	}
	if desired.Digest == "" {
		desired.Digest, desired.ResourceVersion = old.Digest, old.ResourceVersion
	}
	desired.Keep = desired.Keep || old.Keep
	desired.Adopted = desired.Adopted || old.Adopted
	return desired
}

// Stale gives the entries of old whose object is not in desired, sorted by Key: what
// pruning is about.
func Stale(old, desired []corev1alpha1.InventoryEntry) []corev1alpha1.InventoryEntry {
	byKey := index(old)
	for _, d := range desired {
		delete(byKey, Key(d))
	}
	return values(byKey)
}

// Record gives entries with each of applied in the place of the entry with its Key, or
// added when there is none, sorted by Key. It is how the outcome of an apply comes into
// the inventory.
func Record(entries []corev1alpha1.InventoryEntry, applied ...corev1alpha1.InventoryEntry) []corev1alpha1.InventoryEntry {
	byKey := index(entries)
	for _, e := range applied {
		byKey[Key(e)] = e
	}
	return values(byKey)
}

// Without gives entries less those with the Key of one of gone, sorted by Key.
func Without(entries []corev1alpha1.InventoryEntry, gone ...corev1alpha1.InventoryEntry) []corev1alpha1.InventoryEntry {
	return Stale(entries, gone)
}

// Changed gives the objects that differ from what was last applied, in their order: those
// without an entry, and those whose entry has another digest or none.
func Changed(entries []corev1alpha1.InventoryEntry, objects []render.Object) []render.Object {
	byKey := index(entries)
	var changed []render.Object
	for _, o := range objects {
		if e, ok := byKey[KeyOf(o.Key())]; !ok || e.Digest == "" || e.Digest != o.Digest {
			changed = append(changed, o)
		}
	}
	return changed
}

// Equal tells whether a and b hold the same entries, field by field, in whatever order.
func Equal(a, b []corev1alpha1.InventoryEntry) bool {
	return slices.Equal(sorted(slices.Clone(a)), sorted(slices.Clone(b)))
}

func index(entries []corev1alpha1.InventoryEntry) map[string]corev1alpha1.InventoryEntry {
	byKey := make(map[string]corev1alpha1.InventoryEntry, len(entries))
	for _, e := range entries {
		byKey[Key(e)] = e
	}
	return byKey
}

func values(byKey map[string]corev1alpha1.InventoryEntry) []corev1alpha1.InventoryEntry {
	entries := make([]corev1alpha1.InventoryEntry, 0, len(byKey))
	for _, e := range byKey {
		entries = append(entries, e)
	}
	return sorted(entries)
}

// sorted sorts in place, and gives back, entries by Key.
func sorted(entries []corev1alpha1.InventoryEntry) []corev1alpha1.InventoryEntry {
	slices.SortStableFunc(entries, func(a, b corev1alpha1.InventoryEntry) int {
		return strings.Compare(Key(a), Key(b))
	})
	return entries
}
