// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	gosync "sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxExpression bounds the length of a CEL expression in bytes.
const maxExpression = 10 * 1024

// readyEnvironment declares what an expression of spec.dependsOn may use: the Release that
// is depended on, and the libraries, fixed to their versions, that health rules may use.
var readyEnvironment = gosync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("release", cel.DynType),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EagerlyValidateDeclarations(true),
		cel.HomogeneousAggregateLiterals(),
		cel.OptionalTypes(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		ext.Strings(ext.StringsVersion(5)),
		ext.Lists(ext.ListsVersion(3)),
		ext.Math(ext.MathVersion(2)),
		ext.Sets(),
	)
})

// readyExpression checks an expression that says whether a Release is ready.
func readyExpression(path *field.Path, expression string) field.ErrorList {
	if errs := short(path, expression, maxExpression); errs != nil {
		return errs
	}
	env, err := readyEnvironment()
	if err != nil {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("building the expression environment: %w", err))}
	}
	ast, issues := env.Compile(expression)
	if err := issues.Err(); err != nil {
		return field.ErrorList{field.Invalid(path, expression, err.Error())}
	}
	if got := ast.OutputType(); !got.IsExactType(cel.BoolType) && !got.IsExactType(cel.DynType) {
		return field.ErrorList{field.Invalid(path, expression, fmt.Sprintf("must be of type bool, is of type %s", got))}
	}
	return nil
}
