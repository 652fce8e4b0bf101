// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"slices"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// holdAtGates says in the status what waits at each gate of the spec: people approve it
// while a sync is not yet requested or a window not open too. An approval stays with the
// render that it was given for, and gives way when another one waits. With nothing new,
// the approvals of what is applied are all there is.
func (c *Controller) holdAtGates(_ context.Context, s *scope) outcome {
	if s.rolledBack {
		return next() // it was let through before, and is not held up now
	}
	lifecycle := s.release.Status.Lifecycle
	var kept []corev1alpha1.GateStatus
	if lifecycle != nil {
		kept = lifecycle.Gates
	}
	var gates []corev1alpha1.GateStatus
	fresh := s.fresh()
	for _, gate := range gatesOf(s.release) {
		old := findGate(kept, gate.Name)
		switch {
		case old != nil && old.Render == s.result.Digest && (fresh || old.Approved):
			gates = append(gates, *old)
		case fresh:
			s.noteWithdrawn(old)
			gates = append(gates, corev1alpha1.GateStatus{Name: gate.Name, Revision: s.revision, Render: s.result.Digest})
		}
	}
	if lifecycle == nil {
		if len(gates) == 0 {
			return next()
		}
		lifecycle = &corev1alpha1.LifecycleStatus{}
		s.release.Status.Lifecycle = lifecycle
	}
	lifecycle.Gates = gates
	return next()
}

// noteWithdrawn tells of an approval of something that was never applied.
func (s *scope) noteWithdrawn(old *corev1alpha1.GateStatus) {
	if old == nil || !old.Approved || old.Render == s.applied().Render {
		return
	}
	s.notices = append(s.notices, notice{reason: corev1alpha1.ReasonWaitingForGate, message: fmt.Sprintf(
		"the approval of gate %s by %s was for %s, and ends with it: %s waits now", old.Name, old.By, short(old.Revision), short(s.revision))})
}

// awaitGates waits for people to approve something new. What was applied already, such as
// a correction of drift, needs no approval.
func (c *Controller) awaitGates(_ context.Context, s *scope) outcome {
	if !s.fresh() || s.rolledBack {
		return next()
	}
	var missing []string
	for _, gate := range gatesOf(s.release) {
		if !s.approved(gate.Name) {
			missing = append(missing, "gate "+gate.Name)
		}
	}
	if len(missing) == 0 {
		return next()
	}
	out := wait(corev1alpha1.ConditionApplied, corev1alpha1.ReasonWaitingForGate, fmt.Sprintf(
		"%s waits for the approval of %s: kubectl convoy -n %s approve %s, or set approved in status.lifecycle.gates through the lifecycle subresource",
		s.news(), listed(missing, ", "), s.release.Namespace, s.release.Name))
	out.blockedBy = missing
	return out
}

// fresh tells whether the desired state is another one than what is applied.
func (s *scope) fresh() bool { return s.applied().Render != s.result.Digest }

func gatesOf(release *corev1alpha1.Release) []corev1alpha1.Gate {
	if release.Spec.Lifecycle == nil {
		return nil
	}
	return release.Spec.Lifecycle.Gates
}

func findGate(gates []corev1alpha1.GateStatus, name string) *corev1alpha1.GateStatus {
	if i := slices.IndexFunc(gates, func(gate corev1alpha1.GateStatus) bool { return gate.Name == name }); i >= 0 {
		return &gates[i]
	}
	return nil
}

// approved tells whether a gate lets the desired state through.
func (s *scope) approved(name string) bool {
	if s.release.Status.Lifecycle == nil {
		return false
	}
	gate := findGate(s.release.Status.Lifecycle.Gates, name)
	return gate != nil && gate.Approved && gate.Render == s.result.Digest
}

// approvals are those that let the desired state through its gates.
func (s *scope) approvals() []corev1alpha1.Approval {
	if s.release.Status.Lifecycle == nil {
		return nil
	}
	var approvals []corev1alpha1.Approval
	for _, gate := range s.release.Status.Lifecycle.Gates {
		if s.approved(gate.Name) {
			approvals = append(approvals, corev1alpha1.Approval{Gate: gate.Name, By: gate.By, At: gate.At})
		}
	}
	return approvals
}
