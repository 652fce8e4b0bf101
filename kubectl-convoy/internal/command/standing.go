// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// standing is where a requested sync stands.
type standing struct {
	// handled: the sync is through.
	handled bool
	// done: it is, and the Release is Ready.
	done bool
	// old: the text is what was said before the request, of an attempt that failed.
	old bool
	// text says it for people, "" when nothing is known that speaks of the request. Where
	// approve is set, it names the gates.
	text string
	// approve is the command by which a person lets the sync through the gates that it waits
	// at.
	approve string
}

// progress is what is told while the sync is waited for, "" for nothing.
func (s standing) progress() string {
	switch {
	case s.approve != "":
		return fmt.Sprintf("waiting for the approval of %s; approve with: %s", s.text, s.approve)
	case s.old:
		return "so far: " + s.text
	}
	return s.text
}

// waits are the reasons whose messages say by themselves that something is waited for.
var waits = map[string]bool{
	corev1alpha1.ReasonSuspended: true, corev1alpha1.ReasonClusterSuspended: true, corev1alpha1.ReasonSourceSuspended: true,
	corev1alpha1.ReasonWaitingForWave: true, corev1alpha1.ReasonDependency: true, corev1alpha1.ReasonWaitingForSync: true,
	corev1alpha1.ReasonWaitingForGate: true, corev1alpha1.ReasonWaitingForHook: true, corev1alpha1.ReasonWaitingForStage: true,
	corev1alpha1.ReasonWaitingForHealth: true, corev1alpha1.ReasonProgressing: true, corev1alpha1.ReasonDeleting: true,
}

// standingOf tells where the sync asked for by requested stands, by what the Release says
// now. What it said before may be out of date, and nothing tells whether it is: a wait that
// the request ends by itself is left out, a failure is marked as old.
func standingOf(requested, now *corev1alpha1.Release) standing {
	s := standing{handled: handled(requested, now)}
	condition := speaking(now, s.handled)
	if condition == nil {
		return s
	}
	switch {
	case condition.Status == metav1.ConditionTrue && s.handled:
		s.done, s.text = true, withReason(condition)
	case condition.Reason == corev1alpha1.ReasonWaitingForGate:
		s.text, s.approve = gates(now), wayout.Approve(now)
	case condition.Reason == corev1alpha1.ReasonWaitingForSync && !s.handled:
		// Requested it is.
	case waits[condition.Reason]:
		s.text = condition.Message
	case condition.Status != metav1.ConditionTrue:
		s.text = withReason(condition)
		s.old = !s.handled && same(speaking(requested, false), condition)
	}
	return s
}

// speaking gives the condition that says where a Release stands, nil when none speaks of
// its present spec. That is Ready; or Applied, where what is applied is well and what is
// requested waits.
func speaking(release *corev1alpha1.Release, handled bool) *metav1.Condition {
	ready := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionReady)
	if ready == nil || ready.ObservedGeneration != release.Generation {
		return nil
	}
	applied := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionApplied)
	if ready.Status == metav1.ConditionTrue && applied != nil && waits[applied.Reason] && !handled {
		return applied
	}
	return ready
}

// gates names the gates that have to be approved, and for what, "" when they are approved
// and the sync is about to begin.
func gates(release *corev1alpha1.Release) string {
	missing := wayout.MissingApprovals(release)
	if len(missing) == 0 {
		return ""
	}
	var names []string
	for _, gate := range missing {
		names = append(names, "gate "+gate.Name)
	}
	text := strings.Join(names, ", ")
	if revision := missing[0].Revision; revision != "" {
		text += " for " + naming.Short(revision)
	}
	return text
}

// same tells whether two conditions say the same since the same time; either may be nil.
func same(a, b *metav1.Condition) bool {
	return a != nil && b != nil && a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason &&
		a.Message == b.Message && a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

func withReason(condition *metav1.Condition) string {
	return fmt.Sprintf("%s: %s", condition.Reason, condition.Message)
}

// handled tells whether the request carried by requested has been handled.
func handled(requested, now *corev1alpha1.Release) bool {
	return now.Status.Sync != nil &&
		reached(now.Status.Sync.LastHandledAt, requested.Annotations[corev1alpha1.AnnotationSyncRequestedAt]) &&
		reached(now.Status.Sync.LastHandledForceAt, requested.Annotations[corev1alpha1.AnnotationSyncForceRequestedAt])
}

// reached tells whether the handled request is the wanted one or a later one.
func reached(handled, wanted string) bool {
	if handled == wanted {
		return true
	}
	handledAt, err := time.Parse(time.RFC3339Nano, handled)
	if err != nil {
		return false
	}
	wantedAt, err := time.Parse(time.RFC3339Nano, wanted)
	return err != nil || !handledAt.Before(wantedAt)
}
