// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// AssessHook says how far the object of a hook is. A Job or a Pod has ended when it says
// so itself, even while it is being deleted, and rules are not asked for it; every other
// object has succeeded when it is healthy and failed when it is degraded, as AssessIn has it.
// A nil object has failed: it vanished before its end was seen. The message says why, for
// people.
func (a *Assessor) AssessHook(obj *unstructured.Unstructured, around Surroundings) (phase corev1alpha1.HookPhase, message string) {
	if obj == nil {
		return corev1alpha1.HookFailed, "vanished before it finished"
	}
	switch obj.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		if find(obj, "Complete").isTrue() || find(obj, "Failed").isTrue() {
			return ended(job(obj, around))
		}
		return corev1alpha1.HookRunning, assessIn(obj, around).Message
	case schema.GroupKind{Kind: "Pod"}:
		if phase := text(obj, "status", "phase"); phase == "Succeeded" || phase == "Failed" {
			return ended(pod(obj))
		}
		return corev1alpha1.HookRunning, assessIn(obj, around).Message
	}
	return ended(a.AssessIn(obj, around))
}

func ended(result Result) (corev1alpha1.HookPhase, string) {
	switch result.Status {
	case corev1alpha1.HealthHealthy:
		return corev1alpha1.HookSucceeded, result.Message
	case corev1alpha1.HealthDegraded:
		return corev1alpha1.HookFailed, result.Message
	}
	return corev1alpha1.HookRunning, result.Message
}
