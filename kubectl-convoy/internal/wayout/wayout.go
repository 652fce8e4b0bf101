// SPDX-License-Identifier: Apache-2.0

// Package wayout gives the commands by which a person ends what a Release waits for, or
// learns more about it. They can be pasted into a shell: neither names nor digests hold
// anything that a shell reads.
package wayout

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
)

// Command is a command of the plugin about something in a namespace: verb and arguments.
func Command(namespace string, args ...string) string {
	return "kubectl convoy -n " + namespace + " " + strings.Join(args, " ")
}

// Resume ends the suspension of an object: a Release, or another one by kind/name.
func Resume(object metav1.Object, kind string) string {
	name := object.GetName()
	if !strings.EqualFold(kind, "Release") {
		name = strings.ToLower(kind) + "/" + name
	}
	return Command(object.GetNamespace(), "resume", name)
}

// Approve approves what waits at the gates of a Release, and nothing that may take its place
// meanwhile; "" when no approval is missing.
func Approve(release *corev1alpha1.Release) string {
	missing := MissingApprovals(release)
	if len(missing) == 0 {
		return ""
	}
	args := []string{"approve", release.Name}
	if render := missing[0].Render; render != "" {
		args = append(args, "--render", naming.Short(render))
	}
	return Command(release.Namespace, args...)
}

// Sync asks for a sync of a Release, forced or not.
func Sync(release *corev1alpha1.Release, force bool) string {
	args := []string{"sync", release.Name}
	if force {
		args = append(args, "--force")
	}
	return Command(release.Namespace, args...)
}

// RetryHooks runs the failed hooks of a Release again.
func RetryHooks(release *corev1alpha1.Release) string {
	return Command(release.Namespace, "retry", release.Name)
}

// SkipHook goes on without a hook that failed.
func SkipHook(release *corev1alpha1.Release, hook string) string {
	return Command(release.Namespace, "skip", release.Name, hook)
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

// FailedHooks are the hooks of a Release whose last run failed.
func FailedHooks(release *corev1alpha1.Release) []corev1alpha1.HookStatus {
	if release.Status.Lifecycle == nil {
		return nil
	}
	var failed []corev1alpha1.HookStatus
	for _, hook := range release.Status.Lifecycle.Hooks {
		if hook.Phase == corev1alpha1.HookFailed {
			failed = append(failed, hook)
		}
	}
	return failed
}

// OfDeletion tells whether hooks of a point run when their Release is deleted.
func OfDeletion(point corev1alpha1.HookPoint) bool {
	return point == corev1alpha1.HookPreDelete || point == corev1alpha1.HookPostDelete
}
