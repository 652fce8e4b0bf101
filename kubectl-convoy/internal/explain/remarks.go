// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// remarks are what keeps a Release as it is without being a failure or a wait.
func remarks(facts Facts) []Finding {
	release := facts.Release
	var found []Finding
	if pin := release.Spec.Pin; pin != nil {
		to := pin.Revision
		if to == "" {
			to = "render " + pin.Render
		}
		message := fmt.Sprintf("fixed to %s: nothing newer is applied", naming.Short(to))
		if pin.Reason != "" {
			message += " (" + pin.Reason + ")"
		}
		found = append(found, Finding{Subject: "spec.pin", Message: message, Do: []string{wayout.Command(release.Namespace, "unpin", release.Name)}})
	}
	if rollback := release.Status.Rollback; rollback != nil && rollback.Revision != "" {
		found = append(found, Finding{
			Subject: "rollback", Reason: corev1alpha1.ReasonRolledBack, Since: &rollback.At,
			Message: fmt.Sprintf("%s failed, and %s is applied again: %s", naming.Short(rollback.FailedRevision), naming.Short(rollback.Revision), rollback.Message),
			Do:      []string{"deliver another revision, or try the same once more: " + wayout.Sync(release, true)},
		})
	}
	if drift := current(release, corev1alpha1.ConditionInSync); drift != nil && drift.Status == metav1.ConditionFalse {
		found = append(found, Finding{Subject: "drift", Reason: drift.Reason, Message: drift.Message, Since: &drift.LastTransitionTime, Do: advice(release, drift.Reason)})
	}
	return found
}
