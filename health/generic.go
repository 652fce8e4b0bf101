// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// generic reads the conditions that API conventions give a meaning of their own. Stalled
// and Reconciling are the abnormal-true conditions of kstatus; Ready, else Available, is
// what most controllers sum up in. An object without any of them is healthy: there is
// nothing to wait for.
//
// A Ready that is False means "not yet": controllers say it from their first look on.
// Only a condition Failed, or a reason that says so, makes it a failure.
func generic(obj *unstructured.Unstructured) Result {
	if c := find(obj, "Stalled"); c.isTrue() {
		return degraded("%s", c)
	}
	if c := find(obj, "Failed"); c.isTrue() {
		return degraded("%s", c)
	}
	if c := find(obj, "Reconciling"); c.isTrue() {
		return progressing("%s", c)
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
	case c.observedGeneration < obj.GetGeneration():
		return progressing("condition %s speaks of generation %d, the object is at %d", c.Type, c.observedGeneration, obj.GetGeneration())
	case c.isTrue():
		return healthy("")
	case c.isFalse() && saysFailed(c.Reason):
		return degraded("%s", c)
	}
	return progressing("%s", c)
}

func saysFailed(reason string) bool {
	return strings.HasSuffix(reason, "Failed") || strings.HasSuffix(reason, "Failure") || strings.HasSuffix(reason, "Error")
}
