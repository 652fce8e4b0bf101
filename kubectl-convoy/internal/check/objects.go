// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Object is one that others depend on: a Cluster or a source.
type Object struct {
	Kind, Namespace, Name string
	Suspended             bool
	Generation            int64
	Conditions            []metav1.Condition
}

// Objects judges those of a kind, whose plural is given for people: a line for each that is not
// Ready, or one for all of them. Those that are suspended are nobody's fault.
func Objects(plural string, objects []Object) []Check {
	if len(objects) == 0 {
		return []Check{{Status: Skipped, Message: "there are no " + plural}}
	}
	var checks []Check
	suspended := 0
	for _, object := range objects {
		ready := meta.FindStatusCondition(object.Conditions, corev1alpha1.ConditionReady)
		name := fmt.Sprintf("%s %s/%s", object.Kind, object.Namespace, object.Name)
		see := fmt.Sprintf("kubectl convoy -n %s events %s/%s", object.Namespace, strings.ToLower(object.Kind), object.Name)
		switch {
		case object.Suspended:
			suspended++
		case ready == nil:
			checks = append(checks, failed(see, "%s: nobody has looked at it yet", name))
		case ready.ObservedGeneration < object.Generation:
			checks = append(checks, failed(see, "%s was changed, and nobody has looked at it yet", name))
		case ready.Status != metav1.ConditionTrue:
			checks = append(checks, failed(see, "%s: %s: %s", name, ready.Reason, strings.Join(strings.Fields(ready.Message), " ")))
		}
	}
	if len(checks) > 0 {
		return checks
	}
	message := fmt.Sprintf("%d %s answer", len(objects)-suspended, plural)
	if suspended > 0 {
		message += fmt.Sprintf(", %d suspended", suspended)
	}
	return []Check{ok("%s", message)}
}
