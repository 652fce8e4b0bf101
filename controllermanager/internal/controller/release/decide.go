// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// verdict says whether a desired state is brought to the target.
type verdict int

const (
	// idle: everything is as desired.
	idle verdict = iota
	// act: the desired state is applied, or recorded where nothing differs.
	act
	// awaitRequest: something is new, and a person says when it is applied.
	awaitRequest
	// awaitWindow: something is new, and the next window in which it may be applied is not
	// open yet.
	awaitWindow
	// refuseEmpty: the render is empty and would remove everything.
	refuseEmpty
)

// situation is what a verdict depends on.
type situation struct {
	// manual: syncs are requested by people only.
	manual bool
	// requested: a sync was asked for.
	requested bool
	// closed: no automatic sync may start now.
	closed bool
	// sameRender: the render is the one that was last applied as a whole.
	sameRender bool
	// sameInput: so are the Release's generation and the revision.
	sameInput bool
	// unapplied: objects of the render were not applied as they are desired.
	unapplied bool
	// stale: objects that left the render are to be pruned.
	stale bool
	// empty: the render has no objects although there were some, and that is not allowed.
	empty bool
}

// judge gives the verdict on a situation.
func (st situation) judge() verdict {
	settled := st.sameRender && !st.unapplied && !st.stale
	switch {
	case st.empty:
		return refuseEmpty
	case st.requested:
		return act
	case settled && st.sameInput:
		return idle
	case settled:
		return act // nothing is sent, the new input is recorded
	case st.sameRender && st.sameInput && !st.unapplied:
		return act // what was synced goes on being pruned
	case st.manual:
		return awaitRequest
	case st.closed:
		return awaitWindow
	}
	return act
}

// decide ends the pass when there is nothing to do, or nothing may be done now.
func (c *Controller) decide(_ context.Context, s *scope) outcome {
	s.run = runOf(s.release, s.result.Digest)
	opening, err := windowsOf(s.release, s.now)
	if err != nil {
		return stuck(corev1alpha1.ConditionApplied, corev1alpha1.ReasonInvalidConfiguration, err.Error())
	}
	situation := s.situation(!opening.open)
	if s.requestSpent && (situation.manual || situation.closed) {
		s.handleRequest()
		situation.requested = false
	}
	switch situation.judge() {
	case idle:
		return s.completed(appliedMessage(s.applied()))
	case awaitRequest:
		return wait(corev1alpha1.ConditionApplied, corev1alpha1.ReasonWaitingForSync,
			fmt.Sprintf("%s is not applied yet: request a sync, spec.sync.mode is manual", s.news()))
	case awaitWindow:
		return awaitOpening(s, opening)
	case refuseEmpty:
		return stuck(corev1alpha1.ConditionApplied, corev1alpha1.ReasonEmptyRender, fmt.Sprintf(
			"%s has no objects, while %s applied: nothing is pruned; set spec.sync.allowEmpty if that is meant",
			short(s.revision), isAre(len(s.objectEntries()), "object")))
	}
	return next()
}

func (s *scope) situation(closed bool) situation {
	applied := s.applied()
	return situation{
		manual:     s.release.Spec.Sync.Mode == corev1alpha1.SyncModeManual && !s.rolledBack,
		requested:  s.request.pending(),
		closed:     closed && !s.rolledBack && !s.pinned(),
		sameRender: applied.Render == s.result.Digest,
		sameInput:  applied.Generation == s.release.Generation && applied.Revision == s.revision,
		unapplied:  len(s.unapplied()) > 0,
		stale:      prunes(s.release) && len(s.stale()) > 0,
		empty:      len(s.result.Objects)+len(s.leftOut) == 0 && len(s.objectEntries()) > 0 && prunes(s.release) && !s.release.Spec.Sync.AllowEmpty,
	}
}

// pinned tells whether the render is what the spec has pinned the Release to. A person said
// so, and it is not held up.
func (s *scope) pinned() bool {
	pin := s.release.Spec.Pin
	return pin != nil && (pin.Render != "" || s.applied().Revision != s.revision)
}

// news says what is new, for people.
func (s *scope) news() string {
	applied := s.applied()
	switch {
	case applied.Render == "":
		return "revision " + short(s.revision)
	case applied.Revision != s.revision:
		return fmt.Sprintf("revision %s (%s is applied)", short(s.revision), short(applied.Revision))
	case applied.Generation != s.release.Generation:
		return "a change of the spec"
	}
	return "a change of the rendered objects"
}

// runOf identifies the runs of hooks of a desired state: the render, and the last forced
// sync, which runs them afresh.
func runOf(release *corev1alpha1.Release, digest string) string {
	if force := release.Annotations[corev1alpha1.AnnotationSyncForceRequestedAt]; force != "" {
		return digest + "/" + force
	}
	return digest
}

func appliedMessage(applied corev1alpha1.AppliedStatus) string {
	return fmt.Sprintf("%s applied from %s", isAre(int(applied.Objects), "object"), short(applied.Revision))
}

// isAre gives "1 object is", "2 objects are".
func isAre(n int, noun string) string { return count(n, noun) + " " + are(n) }

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
