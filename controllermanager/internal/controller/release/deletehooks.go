// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
)

// deleteRun identifies the runs of hooks of a deletion.
const deleteRun = "delete"

// findDeleteHooks finds the render that is applied, for the hooks that run around the
// deletion; where it has none, nothing is asked of the source. A source that is gone, or that does not answer for as long as a sync may take,
// does not keep the Release from going: it goes without hooks then, and people are told.
func (c *Controller) findDeleteHooks(ctx context.Context, s *scope) outcome {
	s.run = deleteRun
	if s.release.Status.Applied == nil || s.release.Status.Applied.DeleteHooks == 0 {
		return next()
	}
	result, err := c.appliedRender(ctx, s)
	if err == nil {
		s.result = result
		return next()
	}
	if ctx.Err() != nil {
		return abort(ctx.Err())
	}
	patience := untilFrom(s.release.DeletionTimestamp.Time, timeout(s.release), s.now)
	if errors.Is(err, errUnfinished) && patience > 0 {
		out := deleting(corev1alpha1.ReasonDeleting, "rendering what is applied, for its preDelete hooks")
		out.after = patience
		return out
	}
	if apierrors.IsNotFound(err) || patience == 0 {
		s.notices = append(s.notices, notice{warning: true, reason: "HooksSkipped", message: fmt.Sprintf(
			"deleted without preDelete and postDelete hooks, if there are any, because what was applied cannot be rendered: %v", err)})
		return next()
	}
	out := fail(corev1alpha1.ConditionReady, corev1alpha1.ReasonDeleting, err)
	out.message = fmt.Sprintf("looking for preDelete hooks: %v; after %s the objects are deleted without them", err, timeout(s.release))
	return out
}

// appliedRender gives the render that was applied last: the stored one, or else the applied
// revision rendered again.
func (c *Controller) appliedRender(ctx context.Context, s *scope) (*render.Result, error) {
	applied := s.applied()
	if c.config.Renders != nil {
		record, err := c.config.Renders.Get(ctx, s.key.Namespace, s.key.Name, applied.Render)
		if err == nil {
			return record.Result, nil
		}
	}
	reference, ok := sources.ReferenceOf(s.release.Spec.Source)
	if !ok {
		return nil, sources.ErrNoSource
	}
	source, err := c.config.Sources.Find(s.key.Namespace, reference)
	if err != nil {
		return nil, err
	}
	want := fetch.Want{
		Namespace: s.key.Namespace, Source: source, Content: s.release.Spec.Source,
		Revision: applied.Revision, MaxAge: interval(s.release),
	}
	artifact, err := c.fetch(ctx, s.release, want, applied.Revision)
	if err != nil {
		return nil, err
	}
	s.artifact = artifact
	return c.render(ctx, s)
}
