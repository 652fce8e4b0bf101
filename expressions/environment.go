// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
)

const (
	// MaxBytes is how long an expression may be. The API of convoy has the same bound.
	MaxBytes = 2 << 10
	// MaxNodes is how many parts an expression may have when its macros are expanded: some copy what they
	// are given.
	MaxNodes = 20_000
	// MaxCheckWork is how much work a check of its types may be; see [Environment.CheckWork].
	MaxCheckWork = 300_000

	// maxRange bounds lists.range, besides its cost.
	maxRange = 10_000
)

// Environment is what expressions may use. It is immutable and safe for concurrent use.
type Environment struct {
	env *cel.Env
	// bindings by the id of an overload, and by the name of a function of which no single overload is known.
	bindings map[string]*functions.Overload
	// builders are the functions whose type is larger than those of their arguments.
	builders map[string]bool
}

// NewEnvironment gives an environment with the libraries and what is declared: variables, types. The
// libraries are fixed to a version, so that an expression that is accepted keeps its meaning when cel-go is
// updated. A function without a cost is an error.
func NewEnvironment(declarations ...cel.EnvOption) (*Environment, error) {
	env, err := cel.NewEnv(slices.Concat(libraries(), declarations)...)
	if err != nil {
		return nil, fmt.Errorf("building the expression environment: %w", err)
	}
	e := &Environment{env: env, bindings: map[string]*functions.Overload{}, builders: map[string]bool{}}
	for name, function := range env.Functions() {
		if costOf(name) == nil {
			return nil, fmt.Errorf("building the expression environment: function %s has no cost", name)
		}
		bindings, err := function.Bindings()
		if err != nil {
			return nil, fmt.Errorf("building the expression environment: function %s: %w", name, err)
		}
		for _, binding := range bindings {
			e.bindings[binding.Operator] = binding
		}
		e.builders[name] = slices.ContainsFunc(function.OverloadDecls(), builds)
	}
	return e, nil
}

func libraries() []cel.EnvOption {
	return slices.Concat([]cel.EnvOption{
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EagerlyValidateDeclarations(true),
		cel.HomogeneousAggregateLiterals(),
		cel.OptionalTypes(),
		cel.Macros(optionalMacros()...), // in place of those of OptionalTypes
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
		ext.Strings(ext.StringsVersion(5)),
		ext.Lists(ext.ListsVersion(3), ext.ListsMaxRangeSize(maxRange)),
		ext.Math(ext.MathVersion(2)),
		ext.Sets(),
		ext.Network(ext.NetworkVersion(1)),
	}, internals(), listFunctions(), quantityFunctions(), urlFunctions(), regexFunctions(), formatFunctions(), semverFunctions())
}

// CEL gives the environment as CEL has it, to look at types. What it compiles is not bounded.
func (e *Environment) CEL() *cel.Env { return e.env }

// Parse parses an expression, expands its macros, and keeps its types small, so that it can be checked.
// Errors are those of a text that is none, or one that is too large.
func (e *Environment) Parse(text string) (*cel.Ast, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the expression has %d bytes, at most %d are allowed", len(text), MaxBytes)
	}
	parsed, issues := e.env.Parse(text)
	if err := issues.Err(); err != nil {
		return nil, err
	}
	if count(parsed.NativeRep().Expr(), MaxNodes) > MaxNodes {
		return nil, fmt.Errorf("the expression has more than %d parts, with its macros expanded", MaxNodes)
	}
	if work := e.CheckWork(parsed.NativeRep()); work > MaxCheckWork {
		return nil, fmt.Errorf("the expression is too large to be checked: its parts times its lists, maps and optionals are %d, with its macros expanded, at most %d are allowed",
			work, MaxCheckWork)
	}
	if err := e.bounded(parsed.NativeRep()); err != nil {
		return nil, err
	}
	return parsed, nil
}

// Compile compiles an expression that must be able to give a value of the type.
func (e *Environment) Compile(text string, want *cel.Type) (program *Program, err error) {
	// A validator of cel-go takes `[?x]` for an optional x without looking.
	defer func() {
		if r := recover(); r != nil {
			program, err = nil, fmt.Errorf("the expression cannot be checked: %v", r)
		}
	}()
	parsed, err := e.Parse(text)
	if err != nil {
		return nil, err
	}
	if err := meter(parsed.NativeRep()); err != nil {
		return nil, err
	}
	checked, issues := e.env.Check(parsed)
	if err := issues.Err(); err != nil {
		return nil, err
	}
	if got := checked.OutputType(); !got.IsExactType(want) && !got.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("must be of type %s, is of type %s", want, got)
	}
	planning := &planning{Environment: e}
	planned, err := e.env.Program(checked, cel.CustomDecoratorV2(planning.charged))
	if err != nil {
		return nil, err
	}
	root := checked.NativeRep().Expr()
	held := len(text) + partBytes*count(root, math.MaxInt) + stateBytes*int(planning.literals.states) //nolint:gosec // at most maxStates
	return &Program{program: planned, base: parts(root), held: held}, nil
}

const (
	// partBytes is what a part of an expression takes in a program, at the most.
	partBytes = 1 << 10
	// stateBytes is what a state of a regular expression does.
	stateBytes = 128
)

// Program is an expression that compiled. It is safe for concurrent use.
type Program struct {
	program cel.Program
	base    uint64 // the cost of each part once
	held    int    // how many bytes it takes, at the most
}

// maxError is how long an error of an evaluation may be: it can quote what it fails at.
const maxError = 1 << 10

// TypeError is the error of an expression that gives a value of another type than is wanted.
type TypeError struct{ Type, want string }

// Error implements error.
func (e *TypeError) Error() string { return "the value is of type " + e.Type + ", not " + e.want }

// Evaluate runs an expression over variables and gives its value, which must be a T. Errors are those of
// the expression, of one that takes too much work, and a [TypeError].
func Evaluate[T bool | string](p *Program, variables map[string]any) (T, error) {
	return evaluate[T](p, variables, Budget)
}

func evaluate[T bool | string](p *Program, variables map[string]any, units uint64) (T, error) {
	var none T
	with := make(map[string]any, len(variables)+1)
	for name, value := range variables {
		with[name] = value
	}
	with[variableBudget] = &budget{left: units - p.base}
	out, _, err := p.program.Eval(with)
	if err != nil {
		if text := err.Error(); len(text) > maxError {
			err = errors.New(Shorten(text, maxError))
		}
		return none, err
	}
	if types.IsUnknownOrError(out) {
		return none, errors.New("the expression has no value")
	}
	value, ok := out.Value().(T)
	if !ok {
		return none, &TypeError{Type: out.Type().TypeName(), want: fmt.Sprintf("%T", none)}
	}
	return value, nil
}

// Shorten cuts a text that is longer than so many bytes, which its end tells.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
