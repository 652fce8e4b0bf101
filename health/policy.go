// SPDX-License-Identifier: Apache-2.0

package health

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// horizontalPodAutoscaler is healthy when it can read its metrics and scale its target.
// Metrics and targets that are absent are waited for, since both come later than the
// autoscaler as a rule; a specification that can never work is a failure. autoscaling/v1
// has no conditions and is healthy by existing.
func horizontalPodAutoscaler(obj *unstructured.Unstructured) Result {
	if obj.GroupVersionKind().Version == "v1" {
		return healthy("")
	}
	active, able := find(obj, "ScalingActive"), find(obj, "AbleToScale")
	for _, c := range []condition{able, active} {
		switch {
		case !c.isFalse():
		case c.Reason == "ScalingDisabled":
			return healthy("inactive: its target is scaled to zero")
		case strings.HasPrefix(c.Reason, "Invalid") || c.Reason == "AmbiguousSelector":
			return degraded("%s", c)
		default:
			return progressing("%s", c)
		}
	}
	if !able.present() {
		return progressing("the controller has not looked at it yet")
	}
	return healthy("")
}

// budgets are the kind whose status says what fails before its generation counts as seen.
var budgets = schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}

// podDisruptionBudget is healthy when as many pods are healthy as it asks for. One that
// selects no pods is healthy.
func podDisruptionBudget(obj *unstructured.Unstructured) Result {
	// Before the generation: the controller does not count one as seen that it fails with.
	if c := find(obj, "DisruptionAllowed"); c.isFalse() && c.Reason == "SyncFailed" {
		return degraded("%s", c.why())
	}
	if result, waits := unseenStrict(obj); waits {
		return result
	}
	if number(obj, 0, "status", "expectedPods") == 0 {
		return healthy("no pod is selected")
	}
	want, current := number(obj, 0, "status", "desiredHealthy"), number(obj, 0, "status", "currentHealthy")
	if current < want {
		return progressing("%d of %d pods are healthy", current, want)
	}
	return healthy("")
}

// resourceQuota is healthy when what it limits has been counted. Before, the API server
// refuses what it would limit.
func resourceQuota(obj *unstructured.Unstructured) Result {
	hard, _, _ := unstructured.NestedMap(obj.Object, "spec", "hard")
	counted, _, _ := unstructured.NestedMap(obj.Object, "status", "hard")
	for _, resource := range slices.Sorted(maps.Keys(hard)) {
		if _, ok := counted[resource]; !ok {
			return progressing("%s is not counted yet", resource)
		}
	}
	return healthy("")
}

// validatingAdmissionPolicy is healthy when its expressions were checked. What is wrong
// with their types does not keep the policy from working.
func validatingAdmissionPolicy(obj *unstructured.Unstructured) Result {
	warnings := items(obj, "status", "typeChecking", "expressionWarnings")
	if len(warnings) == 0 {
		return healthy("")
	}
	return healthy("%d of its expressions are doubtful: %s: %s", len(warnings), text(warnings[0], "fieldRef"), text(warnings[0], "warning"))
}

// flowSchema is healthy unless the priority level is missing that it refers to.
func flowSchema(obj *unstructured.Unstructured) Result {
	if c := find(obj, "Dangling"); c.isTrue() {
		return progressing("%s", c)
	}
	return healthy("")
}
