// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// judgedConvoy gives what is known of convoy's own kinds, for Releases that deliver some.
func judgedConvoy(kind string) func(*unstructured.Unstructured) Result {
	if kind == "ReleaseInventory" {
		return existing
	}
	return convoy
}

// convoy reads the condition Ready, which every kind of convoy sums up in. Without it
// nobody has looked. A Release or a source that is suspended does as it is told.
func convoy(obj *unstructured.Unstructured) Result {
	c := find(obj, corev1alpha1.ConditionReady)
	switch {
	case flag(obj, "spec", "suspend"):
		return suspended("suspended")
	case !c.present():
		return progressing("the controller has not looked at it yet")
	case c.isFalse() && !c.isBehind(obj) && slices.Contains(convoyFailures, c.Reason):
		return degraded("%s", c)
	}
	return summary(obj, c)
}

// convoyFailures are the reasons of failures that do not say so by their ending.
var convoyFailures = []string{
	corev1alpha1.ReasonDegraded, corev1alpha1.ReasonHealthTimeout, corev1alpha1.ReasonRolledBack, corev1alpha1.ReasonInvalidConfiguration,
}
