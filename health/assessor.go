// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// Existing gives the judgement that every object of a kind gets by existing, unless it is
// being deleted, whatever is in it: no need to read one. ok is false for other kinds.
func (a *Assessor) Existing(gk schema.GroupKind) (_ Result, ok bool) {
	if !exists(gk) || gk == validatingAdmissionPolicy {
		return Result{}, false
	}
	for _, set := range a.sets {
		if set != nil && slices.ContainsFunc(set.rules, func(r rule) bool { return r.kind == gk }) {
			return Result{}, false
		}
	}
	result := existing(nil)
	result.Rule = builtinRule(gk)
	return result, true
}

// validatingAdmissionPolicy is a kind whose status tells of the generation it was checked at.
var validatingAdmissionPolicy = schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}
