// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// wayOut writes the command by which a person ends what a Release waits for, if there is one.
func wayOut(w io.Writer, release *corev1alpha1.Release) {
	if release.Spec.Suspend {
		fmt.Fprintf(w, "Resume with:\t%s\n", ResumeCommand(release))
	}
	if !release.DeletionTimestamp.IsZero() && failedHook(release) {
		fmt.Fprintf(w, "Run hooks again with:\t%s\n", patchCommand(release, " --subresource=lifecycle", `{"status":{"lifecycle":{"hooks":[]}}}`))
	}
	applied := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionApplied)
	if applied == nil || applied.Reason != corev1alpha1.ReasonWaitingForGate {
		return
	}
	if command := ApproveCommand(release); command != "" {
		fmt.Fprintf(w, "Approve with:\t%s\n", command)
	}
}

func failedHook(release *corev1alpha1.Release) bool {
	return release.Status.Lifecycle != nil && slices.ContainsFunc(release.Status.Lifecycle.Hooks, func(hook corev1alpha1.HookStatus) bool {
		return hook.Phase == corev1alpha1.HookFailed && (hook.On == corev1alpha1.HookPreDelete || hook.On == corev1alpha1.HookPostDelete)
	})
}

// ResumeCommand is the command that ends the suspension of a Release.
func ResumeCommand(release *corev1alpha1.Release) string {
	return patchCommand(release, "", `{"spec":{"suspend":false}}`)
}

// MissingApprovals are the gates of a Release that nobody has approved yet, with what waits
// at them where the server has said it.
func MissingApprovals(release *corev1alpha1.Release) []corev1alpha1.GateStatus {
	if release.Spec.Lifecycle == nil {
		return nil
	}
	known := map[string]corev1alpha1.GateStatus{}
	if release.Status.Lifecycle != nil {
		for _, gate := range release.Status.Lifecycle.Gates {
			known[gate.Name] = gate
		}
	}
	var missing []corev1alpha1.GateStatus
	for _, gate := range release.Spec.Lifecycle.Gates {
		status := known[gate.Name]
		if !status.Approved {
			status.Name = gate.Name
			missing = append(missing, status)
		}
	}
	return missing
}

// ApproveCommand is the command that approves what waits at the gates of a Release, and
// nothing that may take its place meanwhile; "" when no approval is missing.
func ApproveCommand(release *corev1alpha1.Release) string {
	missing := MissingApprovals(release)
	if len(missing) == 0 {
		return ""
	}
	approvals := make([]string, len(missing))
	for i, gate := range missing {
		render := ""
		if gate.Render != "" {
			render = fmt.Sprintf(`,"render":%q`, gate.Render)
		}
		approvals[i] = fmt.Sprintf(`{"name":%q%s,"approved":true}`, gate.Name, render)
	}
	return patchCommand(release, " --subresource=lifecycle", `{"status":{"lifecycle":{"gates":[`+strings.Join(approvals, ",")+`]}}}`)
}

// patchCommand is a command for a shell. Neither names nor digests hold a quote.
func patchCommand(release *corev1alpha1.Release, flags, patch string) string {
	return fmt.Sprintf("kubectl -n %s patch release %s%s --type=merge -p '%s'", release.Namespace, release.Name, flags, patch)
}
