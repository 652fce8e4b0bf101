// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"reflect"
	gosync "sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/expressions"
)

// Compiling an expression takes time by the square of its length, and goes on when nobody
// waits for the answer any more: at the worst, 50 ms for one that is as long as it may be.
const (
	// maxExpression bounds the length of a CEL expression in bytes.
	maxExpression = extv1alpha1.MaxExpressionBytes
	// maxExpressions bounds that of all in an object.
	maxExpressions = extv1alpha1.MaxExpressionsBytes
)

// expressionBudget is what is left for the expressions of an object.
type expressionBudget int

// take takes an expression from the budget. It gives the errors of an expression that may not
// be compiled: it is too long, or all are together.
func (b *expressionBudget) take(path *field.Path, expression string) field.ErrorList {
	if errs := short(path, expression, maxExpression); errs != nil {
		return errs
	}
	before := *b
	*b -= expressionBudget(len(expression))
	if before >= 0 && *b < 0 {
		return field.ErrorList{field.Invalid(path, "", fmt.Sprintf("all expressions of the object together may have %d bytes: divide it into several", maxExpressions))}
	}
	return nil
}

// spent tells whether more was taken than there was: nothing is to be compiled then.
func (b *expressionBudget) spent() bool { return *b < 0 }

// readyEnvironment declares what an expression of spec.dependsOn may use: the Release that
// is depended on, with its fields and their types, and what all expressions may use.
var readyEnvironment = gosync.OnceValues(func() (*expressions.Environment, error) {
	known := &jsonTypes{fields: map[string]map[string]*types.FieldType{}}
	release := known.of(reflect.TypeFor[corev1alpha1.Release]())
	return expressions.NewEnvironment(func(env *cel.Env) (*cel.Env, error) {
		known.Provider = env.CELTypeProvider()
		return cel.CustomTypeProvider(known)(env)
	}, cel.Variable("release", release))
})

// readyExpression checks an expression, which is not too long, that says whether a Release is
// ready.
func readyExpression(path *field.Path, expression string) field.ErrorList {
	env, err := readyEnvironment()
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	if _, err := env.Compile(expression, cel.BoolType); err != nil {
		return field.ErrorList{field.Invalid(path, expression, err.Error())}
	}
	return nil
}
