// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const (
	// variableRelease is the only variable of a readyExpr: the Release depended on.
	variableRelease = "release"
	// expressionCost bounds the work of one evaluation, in CEL's units: about a tenth of a
	// second.
	expressionCost = 1_000_000
	// maxExpressions is how many compiled expressions are kept.
	maxExpressions = 1000
)

// releaseEnvironment is built once. The libraries are fixed to a version, so that an
// expression keeps its meaning when cel-go is updated.
var releaseEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable(variableRelease, cel.DynType),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EagerlyValidateDeclarations(true),
		cel.HomogeneousAggregateLiterals(),
		cel.OptionalTypes(),
		ext.Strings(ext.StringsVersion(5)),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		ext.Math(ext.MathVersion(2)),
		ext.Lists(ext.ListsVersion(3)),
		ext.Sets(),
	)
})

// expressions compiles and keeps the expressions of spec.dependsOn.
type expressions struct {
	mu       sync.Mutex
	programs map[string]cel.Program
}

// holds tells whether an expression is true of a Release. A field that the Release does
// not have yet is no error: the expression is not true then. Errors are those of an
// expression that does not compile, or that cannot be evaluated, as one that compares a number
// with a text.
func (e *expressions) holds(expression string, release *corev1alpha1.Release) (bool, error) {
	program, err := e.program(expression)
	if err != nil {
		return false, fmt.Errorf("%s cannot be used: %w", quoted(expression), err)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(release)
	if err != nil {
		return false, fmt.Errorf("reading Release %s: %w", release.Name, err)
	}
	withZeros(object, reflect.TypeFor[corev1alpha1.Release]())
	value, _, err := program.Eval(map[string]any{variableRelease: object})
	switch {
	case err != nil && absentField(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s cannot be evaluated of Release %s: %w: change it; a text is compared with a text, a number with a number, "+
			"and int(), double() and string() convert", quoted(expression), release.Name, err)
	}
	result, ok := value.Value().(bool)
	if !ok {
		return false, fmt.Errorf("%s must be a condition, gives a value of type %s for Release %s: compare it with something",
			quoted(expression), value.Type().TypeName(), release.Name)
	}
	return result, nil
}

// withZeros gives an object the numbers and booleans that its JSON leaves out because they are 0 and
// false: they are not absent, and an expression may compare them.
func withZeros(object map[string]any, t reflect.Type) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value, present := object[name]
		switch inner := field.Type; {
		case name == "" || name == "-":
		case present:
			withZerosIn(value, inner)
		case inner.Kind() == reflect.Bool:
			object[name] = false
		case inner.Kind() == reflect.Int32 || inner.Kind() == reflect.Int64 && inner.PkgPath() == "":
			object[name] = int64(0)
		}
	}
}

func withZerosIn(value any, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := value.(type) {
	case map[string]any:
		if t.Kind() == reflect.Struct {
			withZeros(v, t)
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for _, element := range v {
				withZerosIn(element, t.Elem())
			}
		}
	}
}

// quoted gives an expression for messages, of which it is not to be all.
func quoted(expression string) string {
	const most = 200
	if len(expression) > most {
		expression = strings.ToValidUTF8(expression[:most], "") + "…"
	}
	return strconv.Quote(expression)
}

// absentField tells the error of an expression that reads what the Release does not have. CEL
// has no type for it.
func absentField(err error) bool {
	return slices.ContainsFunc([]string{"no such key", "no such attribute", "no such field", "index out of bounds"}, func(text string) bool {
		return strings.HasPrefix(err.Error(), text)
	})
}

func (e *expressions) program(expression string) (cel.Program, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if program, ok := e.programs[expression]; ok {
		return program, nil
	}
	program, err := compileExpression(expression)
	if err != nil {
		return nil, err
	}
	if e.programs == nil || len(e.programs) >= maxExpressions {
		e.programs = map[string]cel.Program{}
	}
	e.programs[expression] = program
	return program, nil
}

func compileExpression(expression string) (cel.Program, error) {
	env, err := releaseEnvironment()
	if err != nil {
		return nil, fmt.Errorf("building the expression environment: %w", err)
	}
	ast, issues := env.Compile(expression)
	if err := issues.Err(); err != nil {
		return nil, err
	}
	if got := ast.OutputType(); !got.IsExactType(cel.BoolType) && !got.IsExactType(cel.DynType) {
		return nil, errors.New("must be a condition, is of type " + got.String())
	}
	return env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(expressionCost))
}
