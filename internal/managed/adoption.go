// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// kubectlManagers are the field managers of kubectl's commands that write an object's
// content other than by server-side apply. What they wrote becomes convoy's on adoption.
// Not here, because they do a small thing to a running object that is to stay:
// kubectl-annotate, kubectl-label, kubectl-rollout, kubectl-scale and kubectl-taint.
var kubectlManagers = []string{
	"kubectl-client-side-apply",
	"kubectl-create",
	"kubectl-replace",
	"kubectl-edit",
	"kubectl-patch",
	"kubectl-set",
	"kubectl-run",
	"kubectl-expose",
	"kubectl-autoscale",
}

// Adopted gives the test of whose fields become convoy's when a Release takes over an object
// that is nobody's: what kubectl wrote, and what those wrote or applied whom the annotation
// convoy.kumodo.io/adopt-from of the Release names. Other programs' fields are never touched,
// nor is what was written by way of a subresource.
func Adopted(release *corev1alpha1.Release) func(metav1.ManagedFieldsEntry) bool {
	var named []string
	for name := range strings.SplitSeq(release.Annotations[corev1alpha1.AnnotationAdoptFrom], ",") {
		if name = strings.TrimSpace(name); name != "" && name != corev1alpha1.FieldManager {
			named = append(named, name)
		}
	}
	return func(entry metav1.ManagedFieldsEntry) bool {
		if entry.Subresource != "" {
			return false
		}
		return slices.Contains(named, entry.Manager) ||
			entry.Operation == metav1.ManagedFieldsOperationUpdate && slices.Contains(kubectlManagers, entry.Manager)
	}
}
