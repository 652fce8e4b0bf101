// SPDX-License-Identifier: Apache-2.0

package explain

import (
	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// advice is what to do about a reason of a condition; nil where the message says it, or
// nothing has to be done.
func advice(release *corev1alpha1.Release, reason string) []string {
	command := func(args ...string) string { return wayout.Command(release.Namespace, args...) }
	switch reason {
	case corev1alpha1.ReasonWaitingForGate:
		if approve := wayout.Approve(release); approve != "" {
			return []string{"look at it: " + command("preview", release.Name), "approve it: " + approve}
		}
	case corev1alpha1.ReasonWaitingForSync:
		return []string{wayout.Sync(release, false)}
	case corev1alpha1.ReasonHookFailed, corev1alpha1.ReasonRolledBack:
		return []string{"mend it, and deliver another revision; or try the same again: " + wayout.Sync(release, true)}
	case corev1alpha1.ReasonDegraded, corev1alpha1.ReasonHealthTimeout, corev1alpha1.ReasonProgressing,
		corev1alpha1.ReasonWaitingForStage, corev1alpha1.ReasonWaitingForHealth:
		return []string{command("tree", release.Name, "--deep")}
	case corev1alpha1.ReasonUnknown:
		return []string{command("health", release.Name)}
	case corev1alpha1.ReasonDrifted:
		if release.Spec.Sync.Mode == corev1alpha1.SyncModeManual {
			return []string{command("diff", release.Name), wayout.Sync(release, false)}
		}
		return []string{command("diff", release.Name)}
	case corev1alpha1.ReasonDriftContested:
		return []string{command("diff", release.Name), "take the field out of the source, or list it in spec.drift.ignore, or stop the other writer"}
	}
	return adviceOnFailure(release, reason)
}

func adviceOnFailure(release *corev1alpha1.Release, reason string) []string {
	command := func(args ...string) string { return wayout.Command(release.Namespace, args...) }
	switch reason {
	case corev1alpha1.ReasonRenderFailed, corev1alpha1.ReasonInvalidObjects:
		return []string{"mend the source or the spec; before it is delivered, look at a revision with: " + command("preview", release.Name, "--revision", "REVISION")}
	case corev1alpha1.ReasonUnknownKind:
		return []string{"deliver the definition first, in a Release of a lower wave, or correct the version of the object"}
	case corev1alpha1.ReasonEmptyRender:
		return []string{"correct the path or the values; or set spec.sync.allowEmpty if everything is meant to go"}
	case corev1alpha1.ReasonImmutableField:
		return []string{"undo the change; or delete and create the object again: " + wayout.Sync(release, true)}
	case corev1alpha1.ReasonApplyConflict:
		return []string{"take the fields out of the source; or take them over with spec.sync.conflicts: override"}
	case corev1alpha1.ReasonOwnershipConflict:
		return []string{"take the object out of one of the two Releases, or delete the other one"}
	case corev1alpha1.ReasonForbidden:
		return []string{"give the identity on the target the right, or change spec.serviceAccountName"}
	case corev1alpha1.ReasonSecretNotFound:
		return []string{"create the Secret, or set optional: true where it is referred to"}
	case corev1alpha1.ReasonRevisionNotFound:
		return []string{"correct the reference in spec.source"}
	case corev1alpha1.ReasonAuthenticationFailed:
		return []string{"renew the credentials in the Secret"}
	case corev1alpha1.ReasonUnreachable, corev1alpha1.ReasonFetchFailed:
		return []string{"it is tried again by itself; at once with: " + wayout.Sync(release, false)}
	}
	return nil
}
