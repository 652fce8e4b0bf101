// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// parts are the conditions that Ready sums up, in the order in which one is the cause of
// the next.
var parts = []string{
	corev1alpha1.ConditionSourceReady, corev1alpha1.ConditionRendered,
	corev1alpha1.ConditionApplied, corev1alpha1.ConditionHealthy,
}

// maxMessage is how many bytes a message has at most; the API allows 32 KiB.
const maxMessage = 2048

// setCondition lets an outcome speak through its condition. Ready is set at the end of the
// pass (summarize).
func (s *scope) setCondition(out outcome) {
	if out.condition == "" || out.condition == corev1alpha1.ConditionReady {
		return
	}
	switch out.kind {
	case proceeds, completes:
		s.set(out.condition, metav1.ConditionTrue, out.reason, out.message, s.release.Generation)
	case fails:
		s.set(out.condition, metav1.ConditionFalse, out.reason, out.message, s.release.Generation)
	case waits:
		if generation, stays := s.staysApplied(out); stays {
			s.set(out.condition, metav1.ConditionTrue, out.reason, out.message, generation)
			return
		}
		s.set(out.condition, metav1.ConditionFalse, out.reason, out.message, s.release.Generation)
	}
}

// waitsBefore are the reasons of Applied for what a pass waits for before it comes to what
// fails or is waited for elsewhere.
var waitsBefore = map[string]bool{
	corev1alpha1.ReasonWaitingForWave: true, corev1alpha1.ReasonDependency: true,
	corev1alpha1.ReasonWaitingForGate: true, corev1alpha1.ReasonWaitingForSync: true,
}

// settleApplied takes back what Applied says of a wait that is over, when the pass then
// ended at something that another condition tells of.
func (s *scope) settleApplied(out outcome) {
	applied := meta.FindStatusCondition(s.release.Status.Conditions, corev1alpha1.ConditionApplied)
	if applied == nil || !waitsBefore[applied.Reason] || out.condition == corev1alpha1.ConditionApplied ||
		out.kind != waits && out.kind != fails {
		return
	}
	if applied.Status == metav1.ConditionTrue {
		s.set(corev1alpha1.ConditionApplied, metav1.ConditionTrue, corev1alpha1.ReasonApplied, appliedMessage(s.applied()), applied.ObservedGeneration)
		return
	}
	s.set(corev1alpha1.ConditionApplied, metav1.ConditionFalse, out.reason, "not applied yet: "+out.message, s.release.Generation)
}

// staysApplied tells whether Applied remains True, at which generation, while something
// new waits to be applied: what was applied before is still all there is.
func (s *scope) staysApplied(out outcome) (generation int64, stays bool) {
	if out.condition != corev1alpha1.ConditionApplied || out.underWay || s.release.Status.Applied == nil {
		return 0, false
	}
	return s.release.Status.Applied.Generation,
		meta.IsStatusConditionTrue(s.release.Status.Conditions, corev1alpha1.ConditionApplied)
}

func (s *scope) set(conditionType string, status metav1.ConditionStatus, reason, message string, generation int64) {
	conditions := &s.release.Status.Conditions
	condition := metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: shorten(message), ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(s.now),
	}
	// SetStatusCondition takes the given time only when the status changes.
	meta.SetStatusCondition(conditions, condition)
}

// summarize sets Ready from its parts and from how the pass ended.
func (s *scope) summarize(out outcome) {
	generation := s.release.Generation
	if out.condition == corev1alpha1.ConditionReady {
		s.set(corev1alpha1.ConditionReady, metav1.ConditionFalse, out.reason, out.message, generation)
		return
	}
	if out.kind == rests && (out.silent || !s.release.DeletionTimestamp.IsZero()) {
		return
	}
	worst := s.worstPart()
	switch {
	case worst == nil && s.rolledBack:
		s.set(corev1alpha1.ConditionReady, metav1.ConditionFalse, corev1alpha1.ReasonRolledBack, s.release.Status.Rollback.Message, generation)
	case worst == nil:
		s.set(corev1alpha1.ConditionReady, metav1.ConditionTrue, corev1alpha1.ReasonReady, s.readyMessage(), generation)
	case out.kind == waits || out.kind == fails:
		s.set(corev1alpha1.ConditionReady, metav1.ConditionFalse, out.reason, out.message, generation)
	default:
		s.set(corev1alpha1.ConditionReady, worst.Status, worst.Reason, worst.Message, generation)
	}
}

// worstPart gives the first part that is False at the current generation, else the first
// that is not True, else nil.
func (s *scope) worstPart() *metav1.Condition {
	var worst *metav1.Condition
	for _, part := range parts {
		condition := meta.FindStatusCondition(s.release.Status.Conditions, part)
		switch {
		case condition == nil || condition.ObservedGeneration != s.release.Generation:
			condition = &metav1.Condition{
				Type: part, Status: metav1.ConditionUnknown, Reason: corev1alpha1.ReasonProgressing,
				Message: part + " is not known yet for the current spec",
			}
		case condition.Status == metav1.ConditionFalse:
			return condition
		case condition.Status == metav1.ConditionTrue:
			continue
		}
		if worst == nil {
			worst = condition
		}
	}
	return worst
}

func (s *scope) readyMessage() string {
	applied := meta.FindStatusCondition(s.release.Status.Conditions, corev1alpha1.ConditionApplied)
	healthy := meta.FindStatusCondition(s.release.Status.Conditions, corev1alpha1.ConditionHealthy)
	return fmt.Sprintf("%s; %s", applied.Message, healthy.Message)
}

// delivered tells whether a Release is Applied and Healthy at its current generation, and
// if not, what it lacks.
func delivered(release *corev1alpha1.Release) (lack string, ok bool) {
	if release.Spec.Suspend {
		lack = "suspended, "
	}
	// What it lacks has its cause in Ready, the summary.
	cause := ""
	if ready := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionReady); ready != nil && ready.Status == metav1.ConditionFalse {
		cause = ready.Reason
	}
	for _, part := range []string{corev1alpha1.ConditionApplied, corev1alpha1.ConditionHealthy} {
		condition := meta.FindStatusCondition(release.Status.Conditions, part)
		switch {
		case condition == nil && cause != "":
			return fmt.Sprintf("%snot %s yet (%s)", lack, part, cause), false
		case condition == nil:
			return lack + "not " + part + " yet", false
		case condition.Status != metav1.ConditionTrue:
			return fmt.Sprintf("%snot %s (%s)", lack, part, cmp.Or(cause, condition.Reason)), false
		case condition.ObservedGeneration < release.Generation:
			return lack + "not " + part + " at its current spec yet", false
		}
	}
	return "", true
}

// shorten cuts a message that is too long for a condition.
func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage - len("…")
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + "…"
}
