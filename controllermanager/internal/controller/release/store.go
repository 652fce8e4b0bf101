// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// storeRender stores a render before anything of it is applied.
func (c *Controller) storeRender(ctx context.Context, s *scope) outcome {
	if c.config.Renders == nil || s.pinnedRender() || s.rolledBack || !s.fresh() || s.writtenAhead() {
		return next()
	}
	err := c.config.Renders.Put(ctx, store.Record{
		Namespace: s.key.Namespace, Name: s.key.Name, UID: s.release.UID, Revision: s.revision, Result: s.result,
	})
	if err != nil {
		reason := corev1alpha1.ReasonApplyFailed
		if errors.Is(err, store.ErrPlaintextSecrets) {
			reason = corev1alpha1.ReasonInvalidConfiguration
		}
		return fail(corev1alpha1.ConditionApplied, reason, fmt.Errorf("storing the render before it is applied: %w", err))
	}
	return next()
}

// loadPinned takes the stored render that the Release is pinned to. The source may be gone.
func (c *Controller) loadPinned(ctx context.Context, s *scope) outcome {
	if c.config.Renders == nil {
		return stuck(corev1alpha1.ConditionRendered, corev1alpha1.ReasonInvalidConfiguration,
			"spec.pin.render needs a render store, and none is configured (--render-store-url): pin to a revision instead")
	}
	digest := render.PinnedDigest(s.release)
	record, err := c.config.Renders.Get(ctx, s.key.Namespace, s.key.Name, digest)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("the render store has no render %s of this Release: choose one from status.history: %w", digest, err)
	}
	if err != nil {
		return fail(corev1alpha1.ConditionRendered, corev1alpha1.ReasonRenderFailed, err)
	}
	s.result, s.revision = record.Result.ForLaterSync(), record.Revision
	s.release.Status.Source = &corev1alpha1.SourceStatus{Revision: record.Revision}
	return c.noteRender(s)
}

func (s *scope) pinnedRender() bool {
	return s.release.Spec.Pin != nil && s.release.Spec.Pin.Render != ""
}

// settled gives what is desired when a render is not the same each time: what the same
// inputs gave first, so that nothing changes without a change of input. Without a store
// the first render of a process counts.
func (c *Controller) settled(ctx context.Context, s *scope, result *render.Result) (*render.Result, error) {
	first := s.before.Render
	if c.config.Renders == nil || !result.GaveOtherwise(first) {
		return result, nil
	}
	record, err := c.config.Renders.Get(ctx, s.key.Namespace, s.key.Name, first.Digest)
	if errors.Is(err, store.ErrNotFound) {
		return result, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the stored render %s: %w", first.Digest, err)
	}
	return record.Result, nil
}
