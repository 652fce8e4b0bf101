// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// settled gives what is desired when a render is not the same each time: what the same
// inputs gave first, which the controller-manager stored.
func (r *Resolver) settled(ctx context.Context, release *corev1alpha1.Release, made *render.Result) *render.Result {
	first := release.Status.Render
	if len(made.NonDeterministic) == 0 || first == nil || first.Inputs != made.Inputs || first.Digest == made.Digest {
		return made
	}
	stored, err := r.Stored(ctx, release, first.Digest)
	if err != nil {
		return made
	}
	return stored.Result
}

// pinnedDigest gives the digest of the render that a pin names, by digest or history id.
func pinnedDigest(release *corev1alpha1.Release) string {
	for _, entry := range release.Status.History {
		if strconv.FormatInt(entry.ID, 10) == release.Spec.Pin.Render {
			return entry.Render
		}
	}
	return release.Spec.Pin.Render
}

// forLaterSync gives a stored render with the hooks that run in a sync that is not the
// first, whichever it was stored for.
func forLaterSync(stored *Desired) *Desired {
	result := *stored.Result
	result.Hooks, result.OtherHooks = nil, nil
	for _, hook := range slices.Concat(stored.Hooks, stored.OtherHooks) {
		if hook.When == render.Always || hook.When == render.OnUpgrade {
			result.Hooks = append(result.Hooks, hook)
		} else {
			result.OtherHooks = append(result.OtherHooks, hook)
		}
	}
	slices.SortStableFunc(result.Hooks, func(a, b render.Hook) int { return cmp.Compare(a.Weight, b.Weight) })
	return &Desired{Revision: stored.Revision, Result: &result}
}
