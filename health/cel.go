// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

const (
	// variableObject is the only variable of an expression: the object as the API server
	// gives it.
	variableObject = "object"

	// costLimit bounds the work of one evaluation, in CEL's units: a fraction of a second.
	// Kubernetes gives an expression of a CustomResourceDefinition as much.
	costLimit = 1_000_000

	// rangeLimit bounds what lists.range allocates before its cost is known.
	rangeLimit = 10_000
)

// environment is built once: declaring the libraries takes longer than compiling an
// expression. The libraries are fixed to a version, so that an expression that is
// accepted keeps its meaning when cel-go is updated.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable(variableObject, cel.DynType),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EagerlyValidateDeclarations(true),
		cel.HomogeneousAggregateLiterals(),
		cel.OptionalTypes(),
		cel.ASTValidators(
			cel.ValidateDurationLiterals(),
			cel.ValidateTimestampLiterals(),
			cel.ValidateRegexLiterals(),
		),
		ext.Strings(ext.StringsVersion(5)),
		ext.Lists(ext.ListsVersion(3), ext.ListsMaxRangeSize(rangeLimit)),
		ext.Math(ext.MathVersion(2)),
		ext.Sets(),
	)
})

// compileExpression compiles an expression that must be able to give a value of the type.
func compileExpression(expression string, want *cel.Type) (cel.Program, error) {
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("building the expression environment: %w", err)
	}
	ast, issues := env.Compile(expression)
	if err := issues.Err(); err != nil {
		return nil, err
	}
	if got := ast.OutputType(); !got.IsExactType(want) && !got.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("must be of type %s, is of type %s", want, got)
	}
	return env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(costLimit))
}

// expression is one that compiled. What runs it is made when it is first needed, and kept:
// most rules of a large collection are for kinds that a cluster has no object of.
type expression func() (cel.Program, error)

// checkedExpression compiles an expression that must be able to give a value of the type.
func checkedExpression(text string, want *cel.Type) (expression, error) {
	if _, err := compileExpression(text, want); err != nil {
		return nil, err
	}
	return sync.OnceValues(func() (cel.Program, error) { return compileExpression(text, want) }), nil
}

// evaluate runs an expression and gives its value, which must be a T.
func evaluate[T bool | string](expression expression, variables map[string]any) (T, error) {
	var none T
	program, err := expression()
	if err != nil {
		return none, err
	}
	out, _, err := program.Eval(variables)
	if err != nil {
		return none, err
	}
	if types.IsUnknownOrError(out) {
		return none, errors.New("the expression has no value")
	}
	value, ok := out.Value().(T)
	if !ok {
		return none, fmt.Errorf("the value is of type %s, not %T", out.Type().TypeName(), none)
	}
	return value, nil
}
