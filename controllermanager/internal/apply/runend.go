// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// RunEnd tells how the run of a hook has ended, and when, by what its object says of itself: a Job
// or a Pod that has ended. Everything else is running. at is the zero time when the object does not
// tell, and message says why it failed.
func RunEnd(live *unstructured.Unstructured) (phase corev1alpha1.HookPhase, at time.Time, message string) {
	switch {
	case failed(live):
		at, why := endOf(live, "Failed")
		return corev1alpha1.HookFailed, at, strings.TrimSuffix("failed: "+why, ": ")
	case says(live, "Complete", "Succeeded"):
		at, _ := endOf(live, "Complete")
		return corev1alpha1.HookSucceeded, at, "completed"
	}
	return corev1alpha1.HookRunning, time.Time{}, ""
}

// Ends tells whether the objects of a kind say of themselves when they have ended.
func Ends(live *unstructured.Unstructured) bool {
	return groupKind(live) == jobKind || groupKind(live) == podKind
}

// endOf gives when an object that has ended did, and why. A Job says that in a condition.
func endOf(live *unstructured.Unstructured, condition string) (at time.Time, why string) {
	if groupKind(live) == podKind {
		return time.Time{}, reasoned(live.Object["status"])
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == condition {
			since, _ := c["lastTransitionTime"].(string)
			at, _ = time.Parse(time.RFC3339, since)
			return at, reasoned(c)
		}
	}
	return time.Time{}, ""
}

// reasoned joins the reason and the message of a condition, or of what has the like.
func reasoned(from any) string {
	said, _ := from.(map[string]any)
	reason, _ := said["reason"].(string)
	message, _ := said["message"].(string)
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}
