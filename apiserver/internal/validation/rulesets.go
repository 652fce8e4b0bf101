// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/health"
)

// HealthRuleSet checks a HealthRuleSet.
func HealthRuleSet(s *extv1alpha1.HealthRuleSet) field.ErrorList {
	return rules("HealthRuleSet/"+s.Name, s.Spec.Rules)
}

// HealthRuleSetStatus checks the status of a HealthRuleSet.
func HealthRuleSetStatus(s *extv1alpha1.HealthRuleSet) field.ErrorList {
	return conditions(s.Status.Conditions)
}

// GlobalHealthRuleSet checks a GlobalHealthRuleSet.
func GlobalHealthRuleSet(s *extv1alpha1.GlobalHealthRuleSet) field.ErrorList {
	return rules("GlobalHealthRuleSet/"+s.Name, s.Spec.Rules)
}

// GlobalHealthRuleSetStatus checks the status of a GlobalHealthRuleSet.
func GlobalHealthRuleSetStatus(s *extv1alpha1.GlobalHealthRuleSet) field.ErrorList {
	return conditions(s.Status.Conditions)
}

func rules(origin string, list []extv1alpha1.HealthRule) field.ErrorList {
	path := field.NewPath("spec", "rules")
	errs := atMost(path, list, extv1alpha1.MaxRules)
	errs = append(errs, unique(path, list, "name", func(r *extv1alpha1.HealthRule) string { return r.Name })...)
	tooLong, budget := false, expressionBudget(maxExpressions)
	for i := range list {
		errs = append(errs, ruleForm(path.Index(i), &list[i])...)
		long := ruleLength(path.Index(i), &list[i], &budget)
		errs, tooLong = append(errs, long...), tooLong || len(long) > 0
	}
	if tooLong || len(list) > extv1alpha1.MaxRules {
		return errs // compiling is work
	}
	_, faults := health.Compile(list, origin, path)
	return append(errs, faults...)
}

func ruleForm(path *field.Path, r *extv1alpha1.HealthRule) field.ErrorList {
	errs := label(path.Child("name"), r.Name)
	target := path.Child("target")
	errs = append(errs, groupVersionKind(target, r.Target.Group, r.Target.Version, r.Target.Kind)...)
	if r.Target.Kind == "" {
		errs = append(errs, field.Required(target.Child("kind"), ""))
	}
	if r.Healthy == "" && r.Progressing == "" && r.Degraded == "" && r.Suspended == "" {
		errs = append(errs, field.Required(path, "at least one of healthy, progressing, degraded, suspended must be set"))
	}
	return errs
}

func ruleLength(path *field.Path, r *extv1alpha1.HealthRule, budget *expressionBudget) field.ErrorList {
	var errs field.ErrorList
	for _, expression := range []struct{ name, text string }{
		{"healthy", r.Healthy}, {"progressing", r.Progressing}, {"degraded", r.Degraded},
		{"suspended", r.Suspended}, {"message", r.Message},
	} {
		errs = append(errs, budget.take(path.Child(expression.name), expression.text)...)
	}
	return errs
}
