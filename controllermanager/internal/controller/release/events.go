// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"strings"

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
	corev1alpha1.ReasonWaitingForSync: true, corev1alpha1.ReasonDeleting: true,
	corev1alpha1.ReasonSuspended: true, corev1alpha1.ReasonClusterSuspended: true,
	corev1alpha1.ReasonRolledBack: true, // has a notice
}

// announce gives events for what this pass changed, after it was recorded: one for a part
// that failed, or waits for a person, when it begins to, and one when it is well again. Ready
// has one where no part says the same: what keeps a Release from being looked at at all, and
// from being deleted.
func (c *Controller) announce(s *scope) {
	for _, n := range s.notices {
		c.tell(s, n)
	}
	if s.finished {
		return
	}
	var told []string
	for _, part := range parts {
		old, current, changed := s.transition(part)
		switch {
		case !changed:
		case current.Status == metav1.ConditionTrue && recovered(old, part) && !s.noticed(current.Reason):
			c.config.Recorder.Event(s.release, corev1.EventTypeNormal, current.Reason, current.Message)
		case current.Status == metav1.ConditionFalse && !quiet[current.Reason]:
			c.config.Recorder.Event(s.release, corev1.EventTypeWarning, current.Reason, current.Message)
			told = append(told, current.Reason)
		}
	}
	_, ready, changed := s.transition(corev1alpha1.ConditionReady)
	if changed && ready.Status == metav1.ConditionFalse && !quiet[ready.Reason] && !slices.Contains(told, ready.Reason) && !s.saidBefore(ready.Reason) {
		c.config.Recorder.Event(s.release, corev1.EventTypeWarning, ready.Reason, ready.Message)
	}
}

// transition gives a condition as it was before the pass and as it is, and whether its status
// or reason is another one.
func (s *scope) transition(conditionType string) (old, current *metav1.Condition, changed bool) {
	old = meta.FindStatusCondition(s.before.Conditions, conditionType)
	current = meta.FindStatusCondition(s.release.Status.Conditions, conditionType)
	return old, current, current != nil && (old == nil || old.Status != current.Status || old.Reason != current.Reason)
}

// saidBefore tells whether a part was False for a reason before the pass: there was an event
// then.
func (s *scope) saidBefore(reason string) bool {
	return s.release.DeletionTimestamp.IsZero() && slices.ContainsFunc(parts, func(part string) bool {
		old := meta.FindStatusCondition(s.before.Conditions, part)
		return old != nil && old.Status == metav1.ConditionFalse && old.Reason == reason
	})
}

// tell gives the event of a notice.
func (c *Controller) tell(s *scope, n notice) {
	eventType := corev1.EventTypeNormal
	if n.warning {
		eventType = corev1.EventTypeWarning
	}
	c.config.Recorder.Event(s.release, eventType, n.reason, n.message)
}

// maxEvent is how many bytes a text of an event has at most: the API allows 1 KiB.
const maxEvent = 1000

// tellAll gives events that name many objects, as few as hold them: of many events about one
// object, clients and servers drop some.
func (c *Controller) tellAll(s *scope, reason string, texts []string) {
	for len(texts) > 0 {
		n, size := 0, 0
		for n < len(texts) && (n == 0 || size+len(texts[n]) <= maxEvent) {
			size += len(texts[n]) + len("; ")
			n++
		}
		c.tell(s, notice{reason: reason, message: strings.Join(texts[:n], "; ")})
		texts = texts[n:]
	}
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
