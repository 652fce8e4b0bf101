// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Assessor judges objects by rules first. It is immutable and safe for concurrent use.
type Assessor struct {
	sets []*RuleSet
}

// NewAssessor gives an Assessor in which the first rule that matches an object decides:
// sets go in the order given, and rules in the order of their set. A nil set is empty.
// Without sets it judges as Assess does.
func NewAssessor(sets ...*RuleSet) *Assessor {
	return &Assessor{sets: sets}
}

// Assess judges an object; nil is missing. An expression that fails makes the object
// unknown, with the error as message. The object is not changed.
func (a *Assessor) Assess(obj *unstructured.Unstructured) Result {
	if result, decided := absent(obj); decided {
		return result
	}
	for _, set := range a.sets {
		if set == nil {
			continue
		}
		for i := range set.rules {
			if set.rules[i].matches(obj) {
				return set.rules[i].assess(obj)
			}
		}
	}
	return assessPresent(obj)
}
