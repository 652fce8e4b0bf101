// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// deleteRun identifies the runs of hooks of a deletion.
const deleteRun = "delete"

// findDeleteHooks finds the render that is applied, for the hooks that run around the
// deletion; where it has none, nothing is asked of the source. A source that is gone, or that
// fails for as long as a sync may take, does not keep the Release from going: it goes without
// the hooks that only the source has, and people are told. That something takes long is no failure.
// Once objects have been deleted without hooks, it stays at that, should the source be back.
func (c *Controller) findDeleteHooks(ctx context.Context, s *scope) outcome {
	if s.applied().DeleteHooks == 0 {
		return next()
	}
	if lack, _ := s.deletionBegan(); lack != "" {
		return c.knownDeleteHooks(ctx, s, lack)
	}
	result, err := c.appliedRender(ctx, s)
	lacking := c.lacking.get(s.key)
	switch {
	case err == nil:
		c.lacking.forget(s.key)
		s.result = result
		return next()
	case ctx.Err() != nil:
		return abort(ctx.Err())
	case ofTarget(err):
		c.lacking.forget(s.key)
		out := fail(corev1alpha1.ConditionReady, targetReason(err), err)
		out.message = fmt.Sprintf("looking for preDelete hooks: %v", err)
		return out
	case errors.Is(err, errUnfinished):
	default:
		if lacking.until = s.now; lacking.since.IsZero() {
			lacking.since = s.now
		}
		c.lacking.keep(s.key, lacking)
	}
	patience := untilFrom(lacking.since, timeout(s.release), lacking.until)
	switch {
	case apierrors.IsNotFound(err), !lacking.since.IsZero() && patience == 0:
		return c.knownDeleteHooks(ctx, s, err.Error())
	case errors.Is(err, errUnfinished):
		return deleting(corev1alpha1.ReasonDeleting, "rendering what is applied, for its preDelete hooks")
	}
	out := deleting(corev1alpha1.ReasonDeleting, fmt.Sprintf(
		"looking for preDelete hooks: %v; if that is so until %s, the objects are deleted without those that are not in spec.lifecycle",
		err, lacking.since.Add(timeout(s.release)).UTC().Format(time.RFC3339)))
	out.after = min(patience, longestSoon)
	return out
}

// absence is a time in which what is applied cannot be had, as far as it was tried. What is lost with the
// process begins anew: it could do nothing for the Release until then.
type absence struct{ since, until time.Time }

// ofTarget tells errors of the connection to the target.
func ofTarget(err error) bool {
	return errors.Is(err, clusterconn.ErrUnreachable) || errors.Is(err, clusterconn.ErrUnauthenticated) || errors.Is(err, clusterconn.ErrInvalid)
}

// appliedRender gives the render that was applied last: the stored one, or else the applied
// revision rendered again. The error is NotFound when neither will be there another time.
func (c *Controller) appliedRender(ctx context.Context, s *scope) (*render.Result, error) {
	var unread error
	if c.config.Renders != nil {
		record, err := c.config.Renders.Get(ctx, s.key.Namespace, s.key.Name, s.applied().Render)
		if err == nil {
			return record.Result, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			unread = fmt.Errorf("reading the stored render: %v", err)
		}
	}
	result, err := c.renderApplied(ctx, s)
	if unread != nil && apierrors.IsNotFound(err) {
		return nil, unread
	}
	return result, err
}

// renderApplied renders the revision that was applied last.
func (c *Controller) renderApplied(ctx context.Context, s *scope) (*render.Result, error) {
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
		Revision: s.applied().Revision, MaxAge: interval(s.release),
	}
	artifact, err := c.fetch(ctx, s.release, want, want.Revision)
	if err != nil {
		return nil, err
	}
	s.artifact = artifact
	return c.render(ctx, s)
}

// knownDeleteHooks has the deletion go on with the hooks that are known without what was applied,
// which cannot be had: those of the spec, and those that have begun, which are waited for and may
// have failed. cause is why it cannot be had.
func (c *Controller) knownDeleteHooks(ctx context.Context, s *scope, cause string) outcome {
	hooks, err := c.specHooks(ctx, s)
	switch {
	case errors.Is(err, errUnfinished):
		return deleting(corev1alpha1.ReasonDeleting, "rendering the hooks of spec.lifecycle")
	case err != nil:
		out := fail(corev1alpha1.ConditionReady, corev1alpha1.ReasonDeleting, err)
		out.message = fmt.Sprintf("%s, and what is applied cannot be rendered (%s), nor the hooks of spec.lifecycle alone: %v; mend or remove those; %s",
			s.remaining(), cause, err, ways)
		if ofTarget(err) {
			out.reason = targetReason(err)
		}
		return out
	}
	hooks = append(s.begunHooks(hooks), hooks...)
	s.result = &render.Result{Hooks: hooks}
	unknown := int(s.applied().DeleteHooks) - len(hooks)
	left := count(unknown, "preDelete or postDelete hook")
	if s.applied().Generation != s.release.Generation { // its hooks may be others than the spec's
		left = "those preDelete and postDelete hooks that are not in spec.lifecycle any more, or only in the source"
	}
	if unknown > 0 || s.applied().Generation != s.release.Generation {
		s.lack = cause
		s.without = fmt.Sprintf("%s%s, because what was applied cannot be rendered: %s", deletedWithout, left, cause)
		if known := meta.FindStatusCondition(s.before.Conditions, corev1alpha1.ConditionReady); known == nil || !strings.Contains(known.Message, deletedWithout) {
			s.notices = append(s.notices, notice{warning: true, reason: "HooksSkipped", message: s.without})
		}
	}
	return next()
}

// deletedWithout begins what is said of hooks that are left out.
const deletedWithout = "the Release is deleted without "

// specHooks gives the hooks of the spec that run around the deletion. They need no content, and what
// of the mutations is not for them is for what is not here.
func (c *Controller) specHooks(ctx context.Context, s *scope) ([]render.Hook, error) {
	lifecycle := s.release.Spec.Lifecycle
	if lifecycle == nil || !slices.ContainsFunc(lifecycle.Hooks, func(hook corev1alpha1.Hook) bool { return deletes(hook.On) }) {
		return nil, nil
	}
	release := &corev1alpha1.Release{ObjectMeta: s.release.ObjectMeta, Spec: *s.release.Spec.DeepCopy()}
	release.Spec.Render = &corev1alpha1.RenderSpec{Type: corev1alpha1.RenderPlain}
	for i := range release.Spec.Mutations {
		release.Spec.Mutations[i].Optional = true
	}
	const nothing = "no content"
	result, err := c.renderings.Render(ctx, render.Input{
		Release: release, Artifact: render.Artifact{Root: embed.FS{}, Path: ".", Digest: nothing, RootDigest: nothing}, Cluster: s.target,
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(result.Hooks), func(hook render.Hook) bool { return !deletes(hook.On) }), nil
}

// begunHooks gives the hooks of this deletion that have begun and are not among the known ones, as far
// as the status knows them. They can be followed, not run: unknown is true of them.
func (s *scope) begunHooks(known []render.Hook) []render.Hook {
	if s.release.Status.Lifecycle == nil {
		return nil
	}
	var begun []render.Hook
	for i := range s.release.Status.Lifecycle.Hooks {
		status := &s.release.Status.Lifecycle.Hooks[i]
		hook := render.Hook{Name: status.Name, On: status.On, Weight: math.MinInt, Object: remains(s.keyOf(status))}
		if status.Run == deleteRun && s.hookBegan(hook) && !slices.ContainsFunc(known, func(k render.Hook) bool { return k.Name == status.Name }) {
			begun = append(begun, hook)
		}
	}
	return begun
}

// keyOf names the object of a run, as far as that is known.
func (s *scope) keyOf(status *corev1alpha1.HookStatus) corev1alpha1.ObjectKey {
	if status.Object != nil {
		return status.Object.ObjectKey
	}
	for _, entry := range s.entries() {
		if entry.Hook == status.Name {
			return entry.ObjectKey
		}
	}
	return corev1alpha1.ObjectKey{}
}

// unknown tells a hook of which only the run is known.
func unknown(hook render.Hook) bool { return hook.Object.Digest == "" }

// limitOf is how long a run may take of which the hook is not known, but for what the spec says.
func (s *scope) limitOf(status *corev1alpha1.HookStatus) time.Duration {
	if lifecycle := s.release.Spec.Lifecycle; lifecycle != nil {
		for _, hook := range lifecycle.Hooks {
			if hook.Name == status.Name && hook.Timeout != nil && hook.Timeout.Duration > 0 {
				return hook.Timeout.Duration
			}
		}
	}
	return timeout(s.release)
}

// waitedEnough tells whether a run has had all its time to be gone since the Release was deleted, as
// far as its target could be reached.
func (s *scope) waitedEnough(status *corev1alpha1.HookStatus) bool {
	from := s.release.DeletionTimestamp.Time
	if s.watchedSince.After(from) {
		from = s.watchedSince
	}
	return untilFrom(from, s.limitOf(status), s.now) == 0
}
