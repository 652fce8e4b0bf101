// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// storeRender stores a render before anything of it is applied.
func (c *Controller) storeRender(ctx context.Context, s *scope) outcome {
	if c.config.Renders == nil || s.pinnedRender() || s.rolledBack || !s.fresh() || s.writtenAhead() {
		return next()
	}
	if err := c.put(ctx, s); err != nil {
		reason, way := corev1alpha1.ReasonApplyFailed, ""
		if errors.Is(err, store.ErrPlaintextSecrets) {
			reason, way = corev1alpha1.ReasonInvalidConfiguration,
				": convoy-controller-manager needs --render-store-recipient, or --render-store-allow-plaintext-secrets"
		}
		return fail(corev1alpha1.ConditionApplied, reason, fmt.Errorf("storing the render before it is applied: %w%s", err, way))
	}
	return next()
}

func (c *Controller) put(ctx context.Context, s *scope) error {
	err := c.config.Renders.Put(ctx, store.Record{
		Namespace: s.key.Namespace, Name: s.key.Name, UID: s.release.UID, Revision: s.revision, Result: s.result,
	})
	if err == nil {
		c.stored.keep(s.key, s.result.Digest)
	}
	return err
}

// keepApplied stores what is applied already, unless this process knows that it is stored: there
// may be a store, or another one, only since then. It is no failure of the Release when that
// cannot be; a store that cannot be used is left alone by all Releases for a while.
func (c *Controller) keepApplied(ctx context.Context, s *scope) outcome {
	digest := s.result.Digest
	if c.config.Renders == nil || s.pinnedRender() || s.rolledBack || s.applied().Render != digest || !c.stored.lacks(s.key, digest, s.now) {
		return next()
	}
	err := c.put(ctx, s)
	if err == nil {
		return next()
	}
	klog.FromContext(ctx).Info("What is applied could not be stored", "render", digest, "err", err)
	if errors.Is(err, store.ErrUnavailable) {
		c.stored.rest(s.now.Add(storeRest))
	} else {
		c.stored.keep(s.key, digest) // it will not be stored another time either
	}
	return next()
}

// storeRest is how long a store that could not be used is not asked to take what is applied.
const storeRest = time.Minute

// shelf remembers which render of each Release the store has.
type shelf struct {
	perRelease[string]
	closed time.Time // until then
}

func (o *shelf) lacks(release types.NamespacedName, digest string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of[release] != digest && !now.Before(o.closed)
}

func (o *shelf) rest(until time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = until
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
		err = fmt.Errorf("the render store has no render %s of this Release; it has those of status.history that were applied since there is a store: "+
			"choose another one, or pin to a revision: %w", digest, err)
	}
	if err != nil {
		return fail(corev1alpha1.ConditionRendered, corev1alpha1.ReasonRenderFailed, err)
	}
	s.result, s.revision = record.Result.ForLaterSync(), record.Revision
	s.release.Status.Source = &corev1alpha1.SourceStatus{Revision: record.Revision}
	return c.noteRender(s)
}

// orStored has a sync that has begun, or failed and is to be rolled back, go on by the stored
// render when its source cannot be had any more. The condition of the source says so all the
// same. A source that is suspended, or a change of the spec, is waited for.
func (c *Controller) orStored(step func(ctx context.Context, s *scope) outcome) func(ctx context.Context, s *scope) outcome {
	return func(ctx context.Context, s *scope) outcome {
		if s.result != nil {
			return next()
		}
		out := step(ctx, s)
		if out.kind != fails && out.reason != corev1alpha1.ReasonSourceNotFound || !c.unfinished(s) {
			return out
		}
		digest := s.before.Render.Digest
		if rollback := s.before.Rollback; rollback != nil {
			digest = rollback.Failed // what is rolled back still
		}
		record, err := c.config.Renders.Get(ctx, s.key.Namespace, s.key.Name, digest)
		if err != nil {
			klog.FromContext(ctx).V(2).Info("The source cannot be had, nor the stored render", "err", err)
			return out
		}
		s.setCondition(out)
		s.source, s.artifact = nil, nil
		s.result, s.revision = record.Result.ForLaterSync(), record.Revision
		s.wakeIn(interval(s.release))
		return next()
	}
}

// unfinished tells whether something of the last render is left to be done without its source: a
// sync, or a rollback.
func (c *Controller) unfinished(s *scope) bool {
	before := s.before
	if c.config.Renders == nil || before.Render == nil || !s.rendered() || s.request.force != "" {
		return false
	}
	newest := newestEntry(before.History)
	failed := newest != nil && newest.Render == before.Render.Digest && newest.Outcome == corev1alpha1.OutcomeFailed && s.mayRollBack()
	return failed || before.Rollback != nil && before.Rollback.Render != "" || before.Sync != nil && before.Sync.StartedAt != nil
}

// rendered tells whether the last render is one of the spec as it is: a pass that could not render
// it yet has observed it, too.
func (s *scope) rendered() bool {
	known := meta.FindStatusCondition(s.before.Conditions, corev1alpha1.ConditionRendered)
	return known != nil && known.Status == metav1.ConditionTrue && known.ObservedGeneration == s.release.Generation
}

func (s *scope) pinnedRender() bool {
	return s.release.Spec.Pin != nil && s.release.Spec.Pin.Render != ""
}

// settled gives what is desired when a render is not the same each time: what the same
// inputs gave first, so that nothing changes without a change of input. Without a store
// the first render of a process counts.
func (c *Controller) settled(ctx context.Context, s *scope, result *render.Result) (*render.Result, error) {
	if c.config.Renders == nil {
		return result, nil
	}
	otherwise, err := render.GaveOtherwise(ctx, &c.renderings, c.renderInput(s), result)
	if err != nil || !otherwise {
		return result, err
	}
	first := s.before.Render
	record, err := c.config.Renders.Get(ctx, s.key.Namespace, s.key.Name, first.Digest)
	if errors.Is(err, store.ErrNotFound) {
		return result, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the stored render %s: %w", first.Digest, err)
	}
	return record.Result, nil
}
