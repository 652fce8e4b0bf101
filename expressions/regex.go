// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

const (
	// maxPattern is how long a regular expression may be in bytes.
	maxPattern = 1 << 10
	// maxStates is how many states its automaton may have: `x{1000}` has a thousand of seven bytes.
	maxStates = 10_000
)

// pattern compiles a regular expression that is not too large. Errors name no more of it than is allowed.
func pattern(text string) (*regexp.Regexp, error) {
	if _, err := states(text); err != nil {
		return nil, err
	}
	return regexp.Compile(text)
}

// states gives how many states the automaton of a regular expression has, about, before it is made.
func states(text string) (uint64, error) {
	if len(text) > maxPattern {
		return 0, fmt.Errorf("the regular expression has %d bytes, at most %d are allowed", len(text), maxPattern)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	n := statesOf(tree)
	if n > maxStates {
		return 0, fmt.Errorf("the regular expression repeats too much: it has %d states, at most %d are allowed", n, maxStates)
	}
	return n, nil
}

func statesOf(re *syntax.Regexp) uint64 {
	n := uint64(1)
	switch re.Op {
	case syntax.OpLiteral:
		n = uint64(len(re.Rune))
	case syntax.OpCharClass:
		n = uint64(1 + len(re.Rune)/16)
	default:
	}
	for _, part := range re.Sub {
		n = plus(n, statesOf(part))
	}
	if re.Op == syntax.OpRepeat {
		n = times(n, uint64(max(re.Min, re.Max, 1))) //nolint:gosec // not negative
	}
	return n
}

// matching is a step for each letter and state, and making the automaton, which is left out for a pattern that
// is a literal, though its cost is not. A pattern that cannot be used is refused by the function.
func matching(args []ref.Val, _ uint64) uint64 {
	n, err := states(textOf(args[1]))
	if err != nil {
		return 1 + maxPattern
	}
	return plus(times(size(args[0]), n/4+1), n)
}

// matchingAll makes a list of what is found, at the worst at each letter.
func matchingAll(args []ref.Val, limit uint64) uint64 {
	found := uint64(len(textOf(args[0])) + 1) //nolint:gosec // not negative
	if len(args) > 2 {
		found = min(found, least(args[2]))
	}
	return plus(matching(args, limit), times(4, found))
}

// patterned are the functions whose second argument is a regular expression.
var patterned = map[string]func(re *regexp.Regexp, args []ref.Val) ref.Val{
	overloads.Matches: func(re *regexp.Regexp, args []ref.Val) ref.Val { return types.Bool(re.MatchString(textOf(args[0]))) },
	"find":            func(re *regexp.Regexp, args []ref.Val) ref.Val { return types.String(re.FindString(textOf(args[0]))) },
	"findAll": func(re *regexp.Regexp, args []ref.Val) ref.Val {
		most := -1
		if len(args) > 2 {
			n, ok := args[2].(types.Int)
			if !ok {
				return types.MaybeNoSuchOverloadErr(args[2])
			}
			most = int(n)
		}
		return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(textOf(args[0]), most))
	},
}

// withPattern gives what a call of one of them runs: with the pattern compiled once, where it is a literal.
func withPattern(one interpreter.InterpretableCall, function func(*regexp.Regexp, []ref.Val) ref.Val) (functions.FunctionOp, error) {
	if literal, ok := one.Args()[1].(interpreter.InterpretableConst); ok {
		re, err := pattern(textOf(literal.Value()))
		if err != nil {
			return nil, fmt.Errorf("invalid %s argument: %w", one.Function(), err)
		}
		return func(args ...ref.Val) ref.Val {
			if _, ok := args[0].(types.String); !ok {
				return types.MaybeNoSuchOverloadErr(args[0])
			}
			return function(re, args)
		}, nil
	}
	return func(args ...ref.Val) ref.Val {
		for _, text := range args[:2] {
			if _, ok := text.(types.String); !ok {
				return types.MaybeNoSuchOverloadErr(text)
			}
		}
		re, err := pattern(textOf(args[1]))
		if err != nil {
			return types.WrapErr(err)
		}
		return function(re, args)
	}, nil
}

// regexFunctions are those of Kubernetes. `matches` is CEL's own.
func regexFunctions() []cel.EnvOption {
	texts := []*cel.Type{cel.StringType, cel.StringType}
	return []cel.EnvOption{
		cel.Function("find", cel.MemberOverload("string_find_string", texts, cel.StringType, unbound)),
		cel.Function("findAll",
			cel.MemberOverload("string_find_all_string", texts, cel.ListType(cel.StringType), unbound),
			cel.MemberOverload("string_find_all_string_int", append(texts, cel.IntType), cel.ListType(cel.StringType), unbound)),
	}
}

// unbound is the binding of functions that calls do not run; see patterned.
var unbound = cel.FunctionBinding(func(args ...ref.Val) ref.Val { return types.MaybeNoSuchOverloadErr(args[0]) })
