// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"slices"
	"strconv"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// PinnedDigest gives the digest of the render that spec.pin.render names, by digest or
// history id; the Release must have a pin.
func PinnedDigest(release *corev1alpha1.Release) string {
	for _, entry := range release.Status.History {
		if strconv.FormatInt(entry.ID, 10) == release.Spec.Pin.Render {
			return entry.Render
		}
	}
	return release.Spec.Pin.Render
}

// ForLaterSync gives a past render with the hooks that run in a sync that is not the first,
// whichever it was made for. The receiver stays as it is.
func (r *Result) ForLaterSync() *Result {
	later := *r
	later.Hooks, later.OtherHooks = nil, nil
	for _, hook := range slices.Concat(r.Hooks, r.OtherHooks) {
		if hook.When == Always || hook.When == OnUpgrade {
			later.Hooks = append(later.Hooks, hook)
		} else {
			later.OtherHooks = append(later.OtherHooks, hook)
		}
	}
	slices.SortStableFunc(later.Hooks, func(a, b Hook) int { return cmp.Compare(a.Weight, b.Weight) })
	return &later
}

// GaveOtherwise tells whether the same inputs gave another result first, which then is what
// is desired: nothing may change without a change of input. first may be nil.
func (r *Result) GaveOtherwise(first *corev1alpha1.RenderStatus) bool {
	return len(r.NonDeterministic) > 0 && first != nil && first.Inputs == r.Inputs && first.Digest != r.Digest
}
