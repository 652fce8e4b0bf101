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
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/expressions"
)

// variableRelease is the only variable of a readyExpr: the Release depended on.
const variableRelease = "release"

// releaseEnvironment is built once: it takes longer than compiling an expression.
var releaseEnvironment = sync.OnceValues(func() (*expressions.Environment, error) {
	return expressions.NewEnvironment(cel.Variable(variableRelease, cel.DynType))
})

// readyExpressions compiles and keeps the expressions of spec.dependsOn.
type readyExpressions struct{ programs expressions.Cache }

// holds tells whether an expression is true of a Release. A field that the Release does
// not have yet is no error: the expression is not true then. Errors are those of an
// expression that does not compile, or that cannot be evaluated, as one that compares a number
// with a text.
func (e *readyExpressions) holds(expression string, release *corev1alpha1.Release) (bool, error) {
	program, err := e.program(expression)
	if err != nil {
		return false, fmt.Errorf("%s cannot be used: %w", quoted(expression), err)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(release)
	if err != nil {
		return false, fmt.Errorf("reading Release %s: %w", release.Name, err)
	}
	withZeros(object, reflect.TypeFor[corev1alpha1.Release]())
	value, err := expressions.Evaluate[bool](program, map[string]any{variableRelease: object})
	var otherType *expressions.TypeError
	switch {
	case err != nil && absentField(err):
		return false, nil
	case errors.As(err, &otherType):
		return false, fmt.Errorf("%s must be a condition, gives a value of type %s for Release %s: compare it with something",
			quoted(expression), otherType.Type, release.Name)
	case err != nil:
		return false, fmt.Errorf("%s cannot be evaluated of Release %s: %w: change it; a text is compared with a text, a number with a number, "+
			"and int(), double() and string() convert", quoted(expression), release.Name, err)
	}
	return value, nil
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
	return strconv.Quote(expressions.Shorten(expression, most))
}

// absentField tells the error of an expression that reads what the Release does not have. CEL
// has no type for it.
func absentField(err error) bool {
	return slices.ContainsFunc([]string{"no such key", "no such attribute", "no such field", "index out of bounds"}, func(text string) bool {
		return strings.HasPrefix(err.Error(), text)
	})
}

func (e *readyExpressions) program(expression string) (*expressions.Program, error) {
	env, err := releaseEnvironment()
	if err != nil {
		return nil, err
	}
	return e.programs.Compile(env, expression, cel.BoolType)
}
