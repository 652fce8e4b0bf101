// SPDX-License-Identifier: Apache-2.0

package ruletest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/health"
)

const (
	kindLocal  = "HealthRuleSet"
	kindGlobal = "GlobalHealthRuleSet"
)

// Set is a rule set that was read.
type Set struct {
	// Kind is HealthRuleSet or GlobalHealthRuleSet.
	Kind, Namespace, Name string
	Rules                 []extv1alpha1.HealthRule

	source   *document
	compiled *health.RuleSet
}

// Origin is how messages and judgements refer to the set.
func (s *Set) Origin() string { return s.Kind + "/" + s.Name }

// ReadRules reads rule sets and compiles them, in the order in which they are asked:
// HealthRuleSets by name, as if all were of the Release's namespace, before
// GlobalHealthRuleSets by name. kustomization files are passed over. Errors are joined; each
// names file and line, and where it is one the set, the rule, the expression and the place
// in it.
func ReadRules(files ...File) ([]*Set, error) {
	documents, err := read(files)
	faults := []error{err}
	var sets []*Set
	seen := map[string]string{}
	for i := range documents {
		d := &documents[i]
		if d.meta.GroupVersionKind().Group == "kustomize.config.k8s.io" {
			continue
		}
		set, err := decode(d)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		key := set.Origin() + " " + set.Namespace
		if first := seen[key]; first != "" {
			faults = append(faults, fmt.Errorf("%s: %s is there already, at %s", d.position(), set.Origin(), first))
		}
		seen[key] = d.position()
		faults = append(faults, set.check())
		sets = append(sets, set)
	}
	slices.SortStableFunc(sets, func(a, b *Set) int {
		return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) // HealthRuleSet is the later word
	})
	return sets, errors.Join(faults...)
}

func decode(d *document) (*Set, error) {
	gk := d.meta.GroupVersionKind().GroupKind()
	if gk != (schema.GroupKind{Group: extv1alpha1.GroupName, Kind: kindLocal}) && gk != (schema.GroupKind{Group: extv1alpha1.GroupName, Kind: kindGlobal}) {
		return nil, fmt.Errorf("%s: a %s is neither a HealthRuleSet nor a GlobalHealthRuleSet", d.position("kind"), gk)
	}
	if version := d.meta.GroupVersionKind().Version; version != extv1alpha1.SchemeGroupVersion.Version {
		return nil, fmt.Errorf("%s: %s has no version %q, only %s", d.position("apiVersion"), gk, version, extv1alpha1.SchemeGroupVersion.Version)
	}
	// Both kinds have the same fields.
	var object extv1alpha1.HealthRuleSet
	if err := yaml.UnmarshalStrict(d.fields, &object); err != nil {
		return nil, fmt.Errorf("%s: %s/%s: %w", d.position(), gk.Kind, d.meta.GetName(), err)
	}
	return &Set{Kind: gk.Kind, Namespace: object.Namespace, Name: object.Name, Rules: object.Spec.Rules, source: d}, nil
}

// check compiles the rules, and tells what else would be refused by the API server.
func (s *Set) check() error {
	var faults []error
	if len(s.Rules) > extv1alpha1.MaxRules {
		faults = append(faults, s.fault([]any{"spec", "rules"}, "a set has at most %d rules, not %d", extv1alpha1.MaxRules, len(s.Rules)))
	}
	names, total := map[string]bool{}, 0
	for i := range s.Rules {
		rule := &s.Rules[i]
		at := []any{"spec", "rules", i}
		if names[rule.Name] {
			faults = append(faults, s.fault(append(at, "name"), "rule %q is there already", rule.Name))
		}
		names[rule.Name] = true
		faults = append(faults, s.checkForm(at, rule))
		for name, expression := range expressions(rule) {
			total += len(expression)
			if len(expression) > extv1alpha1.MaxExpressionBytes {
				faults = append(faults, s.fault(append(at, name), "rule %q: expression %s: has %d bytes, at most %d are possible", rule.Name, name, len(expression), extv1alpha1.MaxExpressionBytes))
			}
		}
	}
	if total > extv1alpha1.MaxExpressionsBytes {
		faults = append(faults, s.fault([]any{"spec", "rules"}, "all expressions together have %d bytes, at most %d are possible: divide the set into several", total, extv1alpha1.MaxExpressionsBytes))
	}
	if len(s.Rules) <= extv1alpha1.MaxRules && total <= extv1alpha1.MaxExpressionsBytes {
		faults = append(faults, s.compile()...)
	}
	return errors.Join(faults...)
}

func (s *Set) checkForm(at []any, rule *extv1alpha1.HealthRule) error {
	var faults []error
	if problems := validation.IsDNS1123Label(rule.Name); len(problems) > 0 {
		faults = append(faults, s.fault(append(at, "name"), "name %q of a rule: %s", rule.Name, strings.Join(problems, "; ")))
	}
	if rule.Target.Kind == "" {
		faults = append(faults, s.fault(append(at, "target"), "rule %q: target: has no kind", rule.Name))
	}
	if rule.Healthy == "" && rule.Progressing == "" && rule.Degraded == "" && rule.Suspended == "" {
		faults = append(faults, s.fault(at, "rule %q: has none of healthy, progressing, degraded and suspended", rule.Name))
	}
	return errors.Join(faults...)
}

func expressions(rule *extv1alpha1.HealthRule) map[string]string {
	return map[string]string{
		"degraded": rule.Degraded, "suspended": rule.Suspended, "healthy": rule.Healthy, "progressing": rule.Progressing, "message": rule.Message,
	}
}

func (s *Set) compile() []error {
	path := field.NewPath("rules")
	compiled, errs := health.Compile(s.Rules, s.Origin(), path)
	s.compiled = compiled
	var faults []error
	for _, err := range errs {
		index, name := s.place(path, err.Field)
		at := []any{"spec", "rules", index}
		for _, step := range strings.Split(name, ".") {
			at = append(at, step)
		}
		what := "expression " + name
		if strings.HasPrefix(name, "target") {
			what = name
		}
		faults = append(faults, s.fault(at, "rule %q: %s: %s", s.Rules[index].Name, what, plain(err.Detail)))
	}
	return faults
}

// place finds the rule that a field of an error is in, and the field in the rule.
func (s *Set) place(path *field.Path, name string) (int, string) {
	for i := range s.Rules {
		if rest, ok := strings.CutPrefix(name, path.Index(i).String()+"."); ok {
			return i, rest
		}
	}
	return 0, name
}

// plain says what CEL says, with an excerpt of the expression in place of all of it: an
// error of CEL is "ERROR: <input>:line:column: text" and two lines that show the place.
func plain(detail string) string {
	lines := strings.Split(detail, "\n")
	var issues []string
	for i, line := range lines {
		issue, isIssue := strings.CutPrefix(line, "ERROR: <input>:")
		switch {
		case isIssue && i+2 < len(lines):
			issues = append(issues, "at "+issue+", near "+excerpt(lines[i+1], lines[i+2]))
		case isIssue:
			issues = append(issues, "at "+issue)
		case !strings.HasPrefix(line, " | "):
			issues = append(issues, line)
		}
	}
	return strings.Join(issues, "; ")
}

// excerpt is what stands around the place that a line of dots and a mark shows.
func excerpt(shown, mark string) string {
	return near(strings.TrimPrefix(shown, " | "), len([]rune(strings.TrimPrefix(mark, " | ")))-1)
}

// near is what stands around a place in a line.
func near(line string, at int) string {
	const before, after = 20, 40
	text := []rune(line)
	from, to := max(0, min(at, len(text))-before), min(len(text), at+after)
	return strconv.Quote(string(text[from:to]))
}

func (s *Set) fault(at []any, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %s", s.source.position(at...), s.Origin(), fmt.Sprintf(format, args...))
}

// Assessor judges by the rules of the sets, in their order, and by what is built in.
func Assessor(sets []*Set) *health.Assessor {
	compiled := make([]*health.RuleSet, len(sets))
	for i, set := range sets {
		compiled[i] = set.compiled
	}
	return health.NewAssessor(compiled...)
}
