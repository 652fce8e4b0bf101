// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// quiet are the reasons of conditions that are False for the time being and no event:
// what is waited for is in the status.
var quiet = map[string]bool{
	corev1alpha1.ReasonProgressing: true, corev1alpha1.ReasonWaitingForStage: true,
	corev1alpha1.ReasonWaitingForHealth: true, corev1alpha1.ReasonWaitingForHook: true,
	corev1alpha1.ReasonWaitingForWave: true, corev1alpha1.ReasonDependency: true,
	corev1alpha1.ReasonWaitingForSync: true,
}

// announce gives events for what this pass changed, after it was recorded: one for a part
// that failed, or waits for a person, when it begins to, and one when it is well again.
func (c *Controller) announce(s *scope) {
	for _, n := range s.notices {
		c.tell(s, n)
	}
	if s.finished {
		return
	}
	for _, part := range parts {
		old := meta.FindStatusCondition(s.before.Conditions, part)
		current := meta.FindStatusCondition(s.release.Status.Conditions, part)
		if current == nil || old != nil && old.Status == current.Status && old.Reason == current.Reason {
			continue
		}
		switch {
		case current.Status == metav1.ConditionTrue && recovered(old, part) && !s.noticed(current.Reason):
			c.config.Recorder.Event(s.release, corev1.EventTypeNormal, current.Reason, current.Message)
		case current.Status == metav1.ConditionFalse && !quiet[current.Reason]:
			c.config.Recorder.Event(s.release, corev1.EventTypeWarning, current.Reason, current.Message)
		}
	}
}

// tell gives the event of a notice.
func (c *Controller) tell(s *scope, n notice) {
	eventType := corev1.EventTypeNormal
	if n.warning {
		eventType = corev1.EventTypeWarning
	}
	c.config.Recorder.Event(s.release, eventType, n.reason, n.message)
}

// noticed tells whether there is a notice for the same reason already.
func (s *scope) noticed(reason string) bool {
	return slices.ContainsFunc(s.notices, func(n notice) bool { return n.reason == reason })
}

// recovered tells whether a part that is True now is worth an event, because it had failed
// before. What was applied, and what became healthy for the first time, has a notice of
// its own.
func recovered(old *metav1.Condition, part string) bool {
	return part != corev1alpha1.ConditionApplied && old != nil && old.Status == metav1.ConditionFalse && !quiet[old.Reason]
}
