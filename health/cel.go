// SPDX-License-Identifier: Apache-2.0

package health

import (
	"sync"

	"github.com/google/cel-go/cel"

	"kumodo.io/convoy/expressions"
)

// variableObject is the only variable of an expression: the object as the API server
// gives it.
const variableObject = "object"

// environment is built once: declaring the libraries takes longer than compiling an
// expression.
var environment = sync.OnceValues(func() (*expressions.Environment, error) {
	return expressions.NewEnvironment(cel.Variable(variableObject, cel.DynType))
})

// compileExpression compiles an expression that must be able to give a value of the type.
func compileExpression(text string, want *cel.Type) (*expressions.Program, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	return env.Compile(text, want)
}

// expression is one that compiled. What runs it is made when it is first needed, and kept in programs:
// most rules of a large collection are for kinds that a cluster has no object of.
type expression func() (*expressions.Program, error)

// programs of the expressions of all rules: they can be large, and who may write rules can write many.
var programs expressions.Cache

// checkedExpression compiles an expression that must be able to give a value of the type.
func checkedExpression(text string, want *cel.Type) (expression, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	if _, err := env.Compile(text, want); err != nil {
		return nil, err
	}
	return func() (*expressions.Program, error) { return programs.Compile(env, text, want) }, nil
}

// evaluate runs an expression and gives its value, which must be a T.
func evaluate[T bool | string](expression expression, variables map[string]any) (T, error) {
	program, err := expression()
	if err != nil {
		var none T
		return none, err
	}
	return expressions.Evaluate[T](program, variables)
}
