// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// generic reads the conditions that API conventions give a meaning of their own. Stalled
// and Reconciling are the abnormal-true conditions of kstatus; Failed, Degraded, Paused and
// Suspended mean what they say; Synced is beside Ready what controllers of resources
// elsewhere say of the last attempt; Ready, else Available, is what most sum up in. An
// object without any of them is healthy: there is nothing to wait for. That its kind declares
// conditions would not tell that somebody is to write some: many controllers write them for
// some objects only, or not at all unless they are told to.
//
// A Ready that is False means "not yet": controllers say it from their first look on.
// Only a reason that says so, or the severity Error, makes it a failure.
func generic(obj *unstructured.Unstructured) Result {
	for _, conditionType := range []string{"Stalled", "Failed", "Degraded"} {
		if c := find(obj, conditionType); c.isTrue() && !c.isBehind(obj) {
			return degraded("%s", c)
		}
	}
	for _, conditionType := range []string{"Paused", "Suspended"} {
		if c := find(obj, conditionType); c.isTrue() {
			return suspended("%s", c)
		}
	}
	if c := find(obj, "Reconciling"); c.isTrue() {
		return progressing("%s", c)
	}
	if c := find(obj, "Synced"); c.isFalse() && !c.isBehind(obj) {
		switch {
		case saysFailed(c.Reason):
			return degraded("%s", c)
		case strings.HasSuffix(c.Reason, "Paused"):
			return suspended("%s", c)
		}
	}
	for _, conditionType := range []string{"Ready", "Available"} {
		if c := find(obj, conditionType); c.present() {
			return summary(obj, c)
		}
	}
	return healthy("")
}

// summary reads a condition that sums up an object.
func summary(obj *unstructured.Unstructured, c condition) Result {
	switch {
	case c.isBehind(obj):
		return progressing("condition %s speaks of generation %d, the object is at %d", c.Type, c.observedGeneration, obj.GetGeneration())
	case c.isTrue():
		return healthy("")
	case c.isFalse() && (saysFailed(c.Reason) || c.severity == "Error"):
		return degraded("%s", c)
	}
	return progressing("%s", c)
}

func saysFailed(reason string) bool {
	return strings.HasSuffix(reason, "Failed") || strings.HasSuffix(reason, "Failure") || strings.HasSuffix(reason, "Error")
}
