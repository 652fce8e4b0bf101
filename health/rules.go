// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/expressions"
)

// RuleSet is a compiled set of rules. It is immutable and safe for concurrent use.
type RuleSet struct {
	// rules for each kind, in the order in which they are tried.
	rules map[schema.GroupKind][]rule
}

// rule decides for the objects that it matches.
type rule struct {
	name     string // <origin>/<name>
	version  string
	selector labels.Selector
	verdicts []verdict // in the order in which they are tried
	message  expression
	broken   error
	// doubt is why the rule may be wrong; see RuleSet.Doubting.
	doubt string
}

// verdict is the expression that gives an object a status.
type verdict struct {
	status     corev1alpha1.HealthStatus
	expression expression
}

// Compile compiles rules. The origin, "<kind>/<name>" of the object that holds the rules,
// goes into Result.Rule; path is the field of that object in which the rules are. An
// expression that does not compile, or whose type is not bool (string for a message), and
// a label selector that is not one are field errors. The set can be used nevertheless: an
// object that a faulty rule matches is unknown, rather than judged by something else.
func Compile(rules []extv1alpha1.HealthRule, origin string, path *field.Path) (*RuleSet, field.ErrorList) {
	set := &RuleSet{rules: map[schema.GroupKind][]rule{}}
	var errs field.ErrorList
	for i := range rules {
		compiled, ruleErrs := compileRule(&rules[i], origin, path.Index(i))
		kind := schema.GroupKind{Group: rules[i].Target.Group, Kind: rules[i].Target.Kind}
		set.rules[kind] = append(set.rules[kind], compiled)
		errs = append(errs, ruleErrs...)
	}
	return set, errs
}

// Has tells whether the set has a rule for objects of a kind.
func (s *RuleSet) Has(kind schema.GroupKind) bool { return len(s.rules[kind]) > 0 }

// Doubting gives a set whose rules say of objects that are neither well nor broken why they may
// be wrong themselves. doubts are by the name of the rule. What is decided stays the same.
func (s *RuleSet) Doubting(doubts map[string]string) *RuleSet {
	doubting := &RuleSet{rules: make(map[schema.GroupKind][]rule, len(s.rules))}
	for kind, rules := range s.rules {
		rules = slices.Clone(rules)
		for i := range rules {
			rules[i].doubt = doubts[rules[i].name[strings.LastIndex(rules[i].name, "/")+1:]]
		}
		doubting.rules[kind] = rules
	}
	return doubting
}

func compileRule(source *extv1alpha1.HealthRule, origin string, path *field.Path) (rule, field.ErrorList) {
	compiled := rule{
		name:     origin + "/" + source.Name,
		version:  source.Target.Version,
		selector: labels.Everything(),
	}
	var errs field.ErrorList
	if source.Target.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(source.Target.LabelSelector)
		if err != nil {
			errs = append(errs, field.Invalid(path.Child("target", "labelSelector"), source.Target.LabelSelector, err.Error()))
		} else {
			compiled.selector = selector
		}
	}
	for _, try := range []struct {
		field, expression string
		status            corev1alpha1.HealthStatus
	}{
		{"degraded", source.Degraded, corev1alpha1.HealthDegraded},
		{"suspended", source.Suspended, corev1alpha1.HealthSuspended},
		{"healthy", source.Healthy, corev1alpha1.HealthHealthy},
		{"progressing", source.Progressing, corev1alpha1.HealthProgressing},
	} {
		if try.expression == "" {
			continue
		}
		program, err := checkedExpression(try.expression, cel.BoolType)
		if err != nil {
			errs = append(errs, field.Invalid(path.Child(try.field), try.expression, err.Error()))
		}
		compiled.verdicts = append(compiled.verdicts, verdict{status: try.status, expression: program})
	}
	if source.Message != "" {
		program, err := checkedExpression(source.Message, cel.StringType)
		if err != nil {
			errs = append(errs, field.Invalid(path.Child("message"), source.Message, err.Error()))
		}
		compiled.message = program
	}
	compiled.broken = errs.ToAggregate()
	return compiled, errs
}

// matches says whether the rule is for an object of its kind, which is of the version.
func (r *rule) matches(version string, obj *unstructured.Unstructured) bool {
	return (r.version == "" || r.version == version) && r.selector.Matches(labels.Set(obj.GetLabels()))
}

// assess judges an object that the rule matches.
func (r *rule) assess(obj *unstructured.Unstructured) Result {
	result := r.decide(obj)
	result.Rule = r.name
	if r.doubt != "" && (result.Status == corev1alpha1.HealthProgressing || result.Status == corev1alpha1.HealthUnknown) {
		result.Message = strings.TrimPrefix(result.Message+"; the rule may be wrong: "+r.doubt, "; ")
	}
	return result
}

func (r *rule) decide(obj *unstructured.Unstructured) Result {
	if r.broken != nil {
		return unknown("the rule is not valid: %v", r.broken)
	}
	variables := map[string]any{variableObject: withoutSecrets(obj)}
	for _, verdict := range r.verdicts {
		holds, err := evaluate[bool](verdict.expression, variables)
		if err != nil {
			return unknown("expression %q of the rule failed: %v", verdict.status, err)
		}
		if holds {
			return Result{Status: verdict.status, Message: r.say(variables, "")}
		}
	}
	return Result{Status: corev1alpha1.HealthProgressing, Message: r.say(variables, "no expression of the rule holds")}
}

// messageLimit is how long a message may be in bytes: it is kept for each object.
const messageLimit = 1 << 10

// say gives the rule's message, or the fallback of a rule without one. A message that
// fails does not change the verdict.
func (r *rule) say(variables map[string]any, fallback string) string {
	if r.message == nil {
		return fallback
	}
	message, err := evaluate[string](r.message, variables)
	if err != nil {
		return fmt.Sprintf("expression %q of the rule failed: %v", "message", err)
	}
	return expressions.Shorten(message, messageLimit)
}

// withoutSecrets gives an object's fields with the values of a Secret blanked: who writes
// rules, and who reads their messages, need not be allowed to read Secrets. Annotations are
// blanked too, since tools keep copies of whole objects in them.
func withoutSecrets(obj *unstructured.Unstructured) map[string]any {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return obj.Object
	}
	blanked := make(map[string]any, len(obj.Object))
	for name, value := range obj.Object {
		switch name {
		case "apiVersion", "kind", "type", "immutable":
		case "metadata":
			value = withoutAnnotations(value)
		default:
			value = blank(value)
		}
		blanked[name] = value
	}
	return blanked
}

func withoutAnnotations(metadata any) map[string]any {
	fields, _ := metadata.(map[string]any)
	result := maps.Clone(fields)
	if annotations, ok := fields["annotations"]; ok {
		result["annotations"] = blank(annotations)
	}
	return result
}

func blank(value any) any {
	fields, _ := value.(map[string]any)
	blanked := make(map[string]any, len(fields))
	for key := range fields {
		blanked[key] = ""
	}
	return blanked
}
