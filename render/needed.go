// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Engine renders; a *Renderer is one.
type Engine interface {
	Render(ctx context.Context, in Input) (*Result, error)
}

// AsNeeded renders as an installation until something was applied, and as an upgrade from
// then on; Input.Upgrade is not read. What was installed stays what it is, though, as long
// as its inputs are the same: else every installation would be followed by an upgrade to
// itself. Every process that must find the same objects for a Release renders by this.
func AsNeeded(ctx context.Context, engine Engine, in Input) (*Result, error) {
	applied := in.Release.Status.Applied
	in.Upgrade = applied != nil
	result, err := engine.Render(ctx, in)
	if err != nil || applied == nil || result.Digest == applied.Render || !appliedOnce(in.Release) {
		return result, err
	}
	in.Upgrade = false
	installed, err := engine.Render(ctx, in)
	if err != nil || installed.Digest != applied.Render {
		return result, nil
	}
	return installed, nil
}

// GaveOtherwise tells whether the inputs of a result that AsNeeded gave have given another one
// first, which then is what is desired: nothing may change without a change of input. An
// installation that is not the same each time counts, though its inputs are not those of the
// upgrade that follows it.
func GaveOtherwise(ctx context.Context, engine Engine, in Input, result *Result) (bool, error) {
	first, applied := in.Release.Status.Render, in.Release.Status.Applied
	if result.GaveOtherwise(first) {
		return true, nil
	}
	if first == nil || applied == nil || first.Digest != applied.Render || result.Digest == applied.Render || !appliedOnce(in.Release) {
		return false, nil
	}
	in.Upgrade = false
	installed, err := engine.Render(ctx, in)
	if err != nil {
		return false, err
	}
	return installed.GaveOtherwise(first), nil
}

// appliedOnce tells whether what is applied is the first that ever was, as far as the
// history reaches.
func appliedOnce(release *corev1alpha1.Release) bool {
	for _, entry := range release.Status.History {
		applied := entry.Outcome == corev1alpha1.OutcomeApplied || entry.Outcome == corev1alpha1.OutcomeHealthy
		if applied && entry.Render != release.Status.Applied.Render {
			return false
		}
	}
	return true
}
