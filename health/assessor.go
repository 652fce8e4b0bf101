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
	return &Assessor{sets: slices.DeleteFunc(slices.Clone(sets), func(set *RuleSet) bool { return set == nil })}
}

// Assess judges an object; nil is missing. An expression that fails makes the object
// unknown, with the error as message. The object is not changed.
func (a *Assessor) Assess(obj *unstructured.Unstructured) Result {
	return a.AssessIn(obj, Surroundings{})
}

// AssessIn judges an object as Assess does, and asks around for what is known beside it.
func (a *Assessor) AssessIn(obj *unstructured.Unstructured, around Surroundings) Result {
	if result, decided := absent(obj); decided {
		return result
	}
	gvk := obj.GroupVersionKind()
	for _, set := range a.sets {
		rules := set.rules[gvk.GroupKind()]
		for i := range rules {
			if rules[i].matches(gvk.Version, obj) {
				return rules[i].assess(obj)
			}
		}
	}
	return assessPresent(obj, around)
}

// Existing gives the judgement that every object of a kind gets by existing, unless it is
// being deleted, whatever is in it: no need to read one. ok is false for other kinds.
func (a *Assessor) Existing(gk schema.GroupKind) (_ Result, ok bool) {
	rule, ok := a.Builtin(gk)
	if !ok || !exists(gk) {
		return Result{}, false
	}
	result := existing(nil)
	result.Rule = rule
	return result, true
}

// Builtin names the rule by which every object of a kind is judged that is not being deleted, as Result.Rule
// does. ok is false for kinds that are not built in, and those that a rule set has a rule for.
func (a *Assessor) Builtin(gk schema.GroupKind) (rule string, ok bool) {
	if builtin(gk) == nil || slices.ContainsFunc(a.sets, func(set *RuleSet) bool { return len(set.rules[gk]) > 0 }) {
		return "", false
	}
	return builtinRule(gk), true
}
