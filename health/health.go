// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Names of the rules that are no CEL rules and belong to no kind.
const (
	ruleMissing    = "generic/missing"
	ruleDeletion   = "generic/deletion"
	ruleGeneration = "generic/observedGeneration"
	ruleConditions = "generic/conditions"
)

// Result is the health of one object.
type Result struct {
	// Status is the verdict.
	Status corev1alpha1.HealthStatus
	// Message says why, for people; it is empty when there is nothing to say.
	Message string
	// Rule names what decided: "builtin/<group>/<kind>" (with "core" for the core group),
	// "generic/…", or "<origin>/<name>" of a CEL rule.
	Rule string
}

// Assess judges an object by what is built in for its kind, else by its conditions. A nil
// object is missing. The object is not changed.
func Assess(obj *unstructured.Unstructured) Result {
	return assessIn(obj, Surroundings{})
}

func assessIn(obj *unstructured.Unstructured, around Surroundings) Result {
	if result, decided := absent(obj); decided {
		return result
	}
	return assessPresent(obj, around)
}

// Count adds an object of a status to a summary. A status that is none of those of a summary
// counts as unknown.
func Count(summary *corev1alpha1.HealthSummary, status corev1alpha1.HealthStatus) {
	switch status {
	case corev1alpha1.HealthHealthy:
		summary.Healthy++
	case corev1alpha1.HealthProgressing:
		summary.Progressing++
	case corev1alpha1.HealthDegraded:
		summary.Degraded++
	case corev1alpha1.HealthSuspended:
		summary.Suspended++
	case corev1alpha1.HealthMissing:
		summary.Missing++
	default:
		summary.Unknown++
	}
}

// Worst gives the status that a group of objects has: that of its worst member, from
// healthy over suspended, progressing, unknown and missing to degraded. A status that is
// none of these counts as unknown; no status at all is healthy.
func Worst(statuses ...corev1alpha1.HealthStatus) corev1alpha1.HealthStatus {
	worst := corev1alpha1.HealthHealthy
	for _, status := range statuses {
		if severity(status) > severity(worst) {
			worst = status
		}
	}
	if severity(worst) == severity(corev1alpha1.HealthUnknown) {
		return corev1alpha1.HealthUnknown
	}
	return worst
}

func severity(status corev1alpha1.HealthStatus) int {
	switch status {
	case corev1alpha1.HealthHealthy:
		return 0
	case corev1alpha1.HealthSuspended:
		return 1
	case corev1alpha1.HealthProgressing:
		return 2
	case corev1alpha1.HealthMissing:
		return 4
	case corev1alpha1.HealthDegraded:
		return 5
	}
	return 3
}

// absent decides on objects that are not there, or not for long.
func absent(obj *unstructured.Unstructured) (Result, bool) {
	if obj == nil {
		return Result{Status: corev1alpha1.HealthMissing, Message: "not in the cluster", Rule: ruleMissing}, true
	}
	if obj.GetDeletionTimestamp() == nil {
		return Result{}, false
	}
	result := progressing("being deleted%s", detail(keptBy(obj)))
	if finalizers := obj.GetFinalizers(); len(finalizers) > 0 {
		result = progressing("being deleted, waits for the finalizers %v%s", finalizers, detail(keptBy(obj)))
	}
	result.Rule = ruleDeletion
	return result, true
}

func assessPresent(obj *unstructured.Unstructured, around Surroundings) Result {
	gk := obj.GroupVersionKind().GroupKind()
	if result, waits := unseen(obj); waits && gk != budgets {
		return result
	}
	assess := builtin(gk)
	if assess == nil {
		result := generic(obj)
		result.Rule = ruleConditions
		return result
	}
	result := assess(obj, around)
	if result.Rule == "" {
		result.Rule = builtinRule(gk)
	}
	return result
}

func builtinRule(gk schema.GroupKind) string {
	group := gk.Group
	if group == "" {
		group = "core"
	}
	return "builtin/" + group + "/" + gk.Kind
}

// unseen decides on objects whose status speaks of an older generation. A status without
// observedGeneration passes: not every kind has one.
func unseen(obj *unstructured.Unstructured) (Result, bool) {
	observed, found := integer(obj, "status", "observedGeneration")
	if !found || observed >= obj.GetGeneration() {
		return Result{}, false
	}
	return behind(obj), true
}

// unseenStrict is unseen for kinds whose controllers always write observedGeneration: as
// long as it is absent, they have not looked at the object.
func unseenStrict(obj *unstructured.Unstructured) (Result, bool) {
	if number(obj, 0, "status", "observedGeneration") >= obj.GetGeneration() {
		return Result{}, false
	}
	return behind(obj), true
}

func behind(obj *unstructured.Unstructured) Result {
	result := progressing("the controller has not seen generation %d yet", obj.GetGeneration())
	result.Rule = ruleGeneration
	return result
}
