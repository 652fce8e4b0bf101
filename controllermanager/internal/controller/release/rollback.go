// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// rollBack replaces what is desired by the last render that became healthy, when the newest
// one failed and spec.sync.onFailure says so. That it does is in the status from then on, and
// ends when source or spec give another render than the failed one, or a forced sync asks for
// that again: what failed is not tried in turns with what works.
func (c *Controller) rollBack(ctx context.Context, s *scope) outcome {
	status := &s.release.Status
	if s.rollbackEnds() {
		status.Rollback = nil
	}
	if status.Rollback == nil {
		if s.spared = !s.rollsBack(); s.spared {
			return next()
		}
		if out := c.awaitFailedHooks(ctx, s); out.kind != proceeds {
			return out
		}
		c.beginRollback(s)
	}
	if status.Rollback.Render == "" {
		return next()
	}
	past, err := c.pastRender(ctx, s, status.Rollback.Revision, status.Rollback.Render)
	switch {
	case errors.Is(err, errUnfinished):
		if s.before.Rollback == nil {
			status.Rollback = nil // it begins when what it goes back to is known
		}
		return outcome{kind: rests, silent: true}
	case err != nil && mayPass(ctx, err):
		out := fail(corev1alpha1.ConditionApplied, corev1alpha1.ReasonRolledBack, err)
		out.message, out.soon = fmt.Sprintf("%s; it cannot be had: %v", status.Rollback.Message, err), true
		return out
	case err != nil && s.before.Rollback != nil && s.before.Rollback.Render != "":
		return stuck(corev1alpha1.ConditionApplied, corev1alpha1.ReasonRolledBack,
			fmt.Sprintf("%s; what is applied stays as it is, and nothing is corrected: %v", status.Rollback.Message, err))
	case err != nil:
		s.refuseRollback(err.Error())
		return next()
	}
	if s.before.Rollback == nil {
		s.notices = append(s.notices, notice{warning: true, reason: corev1alpha1.ReasonRolledBack, message: status.Rollback.Message})
	}
	s.result, s.revision, s.rolledBack = past, status.Rollback.Revision, true
	out := c.noteRender(s)
	c.leaveOutKnown(s)
	return out
}

// rollbackEnds tells whether a rollback that is under way, or was refused, is over.
func (s *scope) rollbackEnds() bool {
	rollback := s.release.Status.Rollback
	if rollback == nil {
		return false
	}
	failedStill := s.result.Digest == rollback.Failed || rollback.FailedInputs != "" && s.result.Inputs == rollback.FailedInputs
	return !s.mayRollBack() || !failedStill || s.forcedSince(rollback.At)
}

// mayRollBack tells whether the spec wants rollbacks at all.
func (s *scope) mayRollBack() bool {
	return s.release.Spec.Sync.OnFailure == corev1alpha1.OnFailureRollback && s.release.Spec.Pin == nil
}

// forcedSince tells whether a forced sync was requested after a time, which has whole seconds.
func (s *scope) forcedSince(at metav1.Time) bool {
	forced, err := time.Parse(time.RFC3339Nano, s.request.force)
	return err == nil && forced.Truncate(time.Second).After(at.Time)
}

// rollsBack tells whether the scope's render failed for good: it is what the history has on
// top, and no attempt is left that spec.sync.retry.limit allows. Without a limit, there is
// one. That something could not be pruned is no failure of a render.
func (s *scope) rollsBack() bool {
	newest, desired := newestEntry(s.release.Status.History), s.release.Status.Render
	if desired == nil || !s.mayRollBack() || newest == nil || newest.Render != desired.Digest ||
		newest.Outcome != corev1alpha1.OutcomeFailed || s.forcedSince(newest.At) {
		return false
	}
	if retryLimit(s.release) > 0 && s.sync().NextRetryAt != nil {
		return false
	}
	applied := meta.FindStatusCondition(s.release.Status.Conditions, corev1alpha1.ConditionApplied)
	return applied == nil || applied.Reason != corev1alpha1.ReasonPruneFailed
}

// failedNow tells whether it was this pass that found that what is desired failed.
func (s *scope) failedNow() bool {
	before := newestEntry(s.before.History)
	return before == nil || before.Outcome != corev1alpha1.OutcomeFailed
}

// awaitFailedHooks runs the syncFailed hooks of the failed render to their end. How they end
// changes nothing.
func (c *Controller) awaitFailedHooks(ctx context.Context, s *scope) outcome {
	s.run = runOf(s.release, s.result.Digest)
	for _, group := range byWeight(s.result.Hooks, corev1alpha1.HookSyncFailed) {
		if out := c.runGroup(ctx, s, group); out.kind == waits || out.kind == aborts {
			return out
		}
	}
	return next()
}

// beginRollback decides what is rolled back to.
func (c *Controller) beginRollback(s *scope) {
	failed := newestEntry(s.release.Status.History)
	s.release.Status.Rollback = &corev1alpha1.RollbackStatus{
		Failed: failed.Render, FailedInputs: s.result.Inputs, FailedRevision: failed.Revision, At: metav1.NewTime(s.now),
	}
	for _, entry := range s.release.Status.History {
		if entry.Outcome == corev1alpha1.OutcomeHealthy && entry.Render != failed.Render {
			rollback := s.release.Status.Rollback
			rollback.Revision, rollback.Render = entry.Revision, entry.Render
			what := short(failed.Revision)
			if entry.Revision == failed.Revision {
				what = "a change of the spec"
			}
			rollback.Message = shorten(fmt.Sprintf("rolled back to %s, because %s failed: %s; another revision or spec, or a forced sync, is tried again",
				short(entry.Revision), what, strings.TrimSuffix(failed.Message, "; "+runsAfresh)))
			return
		}
	}
	s.refuseRollback("no other render of status.history was healthy")
}

// refuseRollback leaves the failed render in place, and has everything that tells of the
// failure say why.
func (s *scope) refuseRollback(why string) {
	rollback := s.release.Status.Rollback
	rollback.Revision, rollback.Render = "", ""
	rollback.Message = shorten("not rolled back: " + why)
	if s.before.Rollback != nil && s.before.Rollback.Message == rollback.Message {
		return
	}
	s.notices = append(s.notices, notice{warning: true, reason: "RollbackRefused", message: rollback.Message})
	if newest := newestEntry(s.release.Status.History); newest != nil && newest.Render == rollback.Failed {
		newest.Message = shorten(newest.Message + "; " + rollback.Message)
	}
	applied := meta.FindStatusCondition(s.release.Status.Conditions, corev1alpha1.ConditionApplied)
	if applied != nil && applied.Status == metav1.ConditionFalse {
		s.set(applied.Type, applied.Status, applied.Reason, applied.Message+"; "+rollback.Message, applied.ObservedGeneration)
	}
}

// goesBack tells whether what is desired is not what the source and the spec last came to, so that an
// object which is not in it may have been there before the Release took it over.
func (s *scope) goesBack() bool { return s.rolledBack || s.release.Spec.Pin != nil }

// refusal is why the failed render is not rolled back, to be told with the failure; "" when
// nothing keeps it from being.
func (s *scope) refusal() string {
	if rollback := s.release.Status.Rollback; rollback != nil && rollback.Render == "" {
		return "; " + rollback.Message
	}
	return ""
}

// rollbackNote is what the history says of an entry that is there by a rollback.
func (s *scope) rollbackNote(entry *corev1alpha1.HistoryEntry) string {
	rollback := s.release.Status.Rollback
	if rollback == nil || rollback.Render != entry.Render {
		return ""
	}
	return "rolled back from " + rollback.FailedRevision
}

// completed ends the pass well, and says so when what is applied is not the newest.
func (s *scope) completed(message string) outcome {
	out := complete(message)
	if s.rolledBack {
		out.reason, out.message = corev1alpha1.ReasonRolledBack, message+s.leftOutNote()+"; "+s.release.Status.Rollback.Message
	}
	return out
}

// errAnotherRender says that a past revision does not give the past render any more.
var errAnotherRender = errors.New("the past render cannot be made again")

// pastRender gives a past render of the Release: the stored one, or else its revision rendered
// with the present spec, if that gives the same.
func (c *Controller) pastRender(ctx context.Context, s *scope, revision, digest string) (*render.Result, error) {
	if c.config.Renders != nil {
		record, err := c.config.Renders.Get(ctx, s.key.Namespace, s.key.Name, digest)
		if err == nil {
			return record.Result.ForLaterSync(), nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("reading the stored render %s: %w", digest, err)
		}
	}
	if s.source == nil {
		return nil, fmt.Errorf("%w: the source cannot be had, and the render store has no render %s", errAnotherRender, digest)
	}
	want := s.want
	want.Revision = revision
	artifact, err := c.fetch(ctx, s.release, want, revision)
	if err != nil {
		return nil, err
	}
	past := *s
	past.artifact = artifact
	for _, upgrade := range []bool{true, false} {
		input := c.renderInput(&past)
		input.Upgrade = upgrade
		result, err := c.renderings.Render(ctx, input)
		if err != nil {
			return nil, err
		}
		if result.Digest == digest {
			return result.ForLaterSync(), nil
		}
	}
	return nil, fmt.Errorf("%w: %s gives something else with the present spec, values and cluster; a render store keeps renders (--render-store-url)",
		errAnotherRender, short(revision))
}

// mayPass tells errors of having a past render that are likely to pass by themselves.
func mayPass(ctx context.Context, err error) bool {
	return passes(ctx, err) || errors.Is(err, store.ErrUnavailable)
}
