// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"

	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/expressions"
	"kumodo.io/convoy/health/openapi"
)

// Finding is what a rule asks of the objects of a kind that their schema does not have: a field
// that is not there, a comparison that is never true, a function that the value does not have.
type Finding struct {
	// Rule is the rule's name, Field the one that the expression is in: "healthy" and the like.
	Rule, Field string
	// Line and Column of the expression where it is, from 1 on.
	Line, Column int
	// Message says what is wrong, and names kind and version.
	Message string
}

// String says where the finding is in the rule, and what it is.
func (f Finding) String() string {
	return fmt.Sprintf("expression %s: at %d:%d: %s", f.Field, f.Line, f.Column, f.Message)
}

// Targets tells whether a rule is for the objects of a kind, whatever their labels.
func Targets(rule *extv1alpha1.HealthRule, kind schema.GroupVersionKind) bool {
	target := rule.Target
	return target.Group == kind.Group && target.Kind == kind.Kind && (target.Version == "" || target.Version == kind.Version)
}

// CheckTypes holds the rules that are for a kind against the schema of its objects. It changes
// nothing of what the rules say of objects: types are only looked at here. Expressions that do
// not compile are passed over, which Compile tells of. The error is one of this package alone.
func CheckTypes(rules []extv1alpha1.HealthRule, kind schema.GroupVersionKind, of *openapi.Schema) ([]Finding, error) {
	check, err := newTypeCheck(kind, of)
	if err != nil {
		return nil, fmt.Errorf("building the types of %s: %w", kind, err)
	}
	var findings []Finding
	for i := range rules {
		if !Targets(&rules[i], kind) {
			continue
		}
		for _, one := range textsOf(&rules[i]) {
			for _, found := range check.expression(one.text, one.want) {
				found.Rule, found.Field = rules[i].Name, one.field
				findings = append(findings, found)
			}
		}
	}
	return findings, nil
}

// Everywhere gives the findings that were made with each of several schemas of one kind: what
// any of them has, in whatever version, is meant by who reads it. The messages are those of
// the first.
func Everywhere(of ...[]Finding) []Finding {
	if len(of) == 0 {
		return nil
	}
	same := func(a Finding) func(Finding) bool {
		return func(b Finding) bool { a.Message, b.Message = "", ""; return a == b }
	}
	return slices.DeleteFunc(slices.Clone(of[0]), func(finding Finding) bool {
		return slices.ContainsFunc(of[1:], func(others []Finding) bool { return !slices.ContainsFunc(others, same(finding)) })
	})
}

// sourceText is an expression of a rule, and the type that it must have.
type sourceText struct {
	field, text string
	want        *cel.Type
}

func textsOf(rule *extv1alpha1.HealthRule) []sourceText {
	return []sourceText{
		{"degraded", rule.Degraded, cel.BoolType}, {"suspended", rule.Suspended, cel.BoolType},
		{"healthy", rule.Healthy, cel.BoolType}, {"progressing", rule.Progressing, cel.BoolType},
		{"message", rule.Message, cel.StringType},
	}
}

// typeCheck checks expressions over objects of one kind.
type typeCheck struct {
	kind   schema.GroupVersionKind
	parser *expressions.Environment
	types  *declarations
	env    *checker.Env
}

func newTypeCheck(kind schema.GroupVersionKind, of *openapi.Schema) (*typeCheck, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	declared := newDeclarations(env.CEL().CELTypeProvider())
	checks, err := declared.environment(env.CEL(), kind.Kind, of)
	if err != nil {
		return nil, err
	}
	return &typeCheck{kind: kind, parser: env, types: declared, env: checks}, nil
}

const (
	// readingsLimit bounds how often an expression is checked anew with a part read in another way.
	readingsLimit = 100
	// readingsWork bounds the work of all these checks, which is that of some of the largest expressions.
	readingsWork = 4 * expressions.MaxCheckWork
)

// expression checks an expression that must be able to give a value of the type.
func (c *typeCheck) expression(text string, want *cel.Type) []Finding {
	if _, err := compileExpression(text, want); text == "" || err != nil {
		return nil
	}
	parsed, err := c.parser.Parse(text)
	if err != nil {
		return nil
	}
	tree, source := parsed.NativeRep(), common.NewTextSource(text)
	left := readingsWork
	for range readingsLimit {
		if left -= c.parser.CheckWork(tree); left < 0 {
			return nil
		}
		checked, errs := checker.Check(ast.Copy(tree), source, c.env)
		again := false
		for _, err := range errs.GetErrors() {
			again = c.readOtherwise(tree, checked, err.ExprID) || again
		}
		if !again {
			return c.findings(checked, errs.GetErrors(), want)
		}
	}
	return nil
}

// findings are what is wrong with an expression as it was checked. What is said twice is told
// once, where it is said first.
func (c *typeCheck) findings(checked *ast.AST, errs []*common.Error, want *cel.Type) []Finding {
	var found []Finding
	add := func(at common.Location, message string) {
		finding := Finding{Line: at.Line(), Column: at.Column() + 1, Message: message}
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Message == message }) {
			found = append(found, finding)
		}
	}
	for _, err := range errs {
		add(err.Location, c.say(checked, err))
	}
	root := checked.Expr()
	if got := checked.GetType(root.ID()); len(errs) == 0 && !got.IsExactType(want) && !got.IsExactType(cel.DynType) {
		add(common.NewLocation(1, 0), fmt.Sprintf("must be of type %s, is of type %s%s", want, checker.FormatCELType(got), c.of()))
	}
	for _, never := range c.impossible(checked) {
		add(checked.SourceInfo().GetStartLocation(never.id), never.message)
	}
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	return found
}

// of names the group and version that messages speak of.
func (c *typeCheck) of() string { return " in " + c.kind.GroupVersion().String() }
