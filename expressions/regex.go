// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strconv"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

const (
	// maxPattern is how long a regular expression may be in bytes.
	maxPattern = 1 << 10
	// maxStates is how many states automata may have: that of `x{1000}` has a thousand of seven bytes.
	maxStates = 10_000
	// maxFolded is how many letters classes may have that stand for both cases.
	maxFolded = 250_000
	// lastFolded is the last letter that has two cases: regexp looks at none beyond.
	lastFolded = 0x1e943
)

var (
	// foldedFlag is a flag that makes letters stand for both cases, or a text that only looks like it.
	foldedFlag = regexp.MustCompile(`\(\?[a-zA-Z-]*i`)
	// wideRange is the end of a range that may have more than some hundred letters.
	wideRange = regexp.MustCompile(`-(?:\\x\{([0-9A-Fa-f]+)\}|([^\x00-\x7f]))`)
	// script is a class of letters by a name, each of which has hundreds of ranges.
	script = regexp.MustCompile(`\\[pP]`)
)

// patterns counts what the regular expressions of one expression have together, of those that are literals, or
// what one has that is not: it is kept as long as the expression is.
type patterns struct{ letters, states uint64 }

// compile compiles a regular expression that is not too large with those before it, and gives how many states
// its automaton has, about. It pays for each step before it is done. Errors name no more of it than is allowed.
func (p *patterns) compile(text string, pay func(cost uint64)) (*regexp.Regexp, uint64, error) {
	if len(text) > maxPattern {
		return nil, 0, fmt.Errorf("the regular expression has %d bytes, at most %d are allowed", len(text), maxPattern)
	}
	pay(uint64(8 * len(text))) //nolint:gosec // not negative
	letters := folded(text)
	if p.letters = plus(p.letters, letters); p.letters > maxFolded {
		return nil, 0, fmt.Errorf("the regular expression folds too many letters: %d are in all ranges of classes together, at most %d are allowed", p.letters, maxFolded)
	}
	pay(uint64(400*len(script.FindAllStringIndex(text, -1))) + letters/4) //nolint:gosec // not negative
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	n := statesOf(tree)
	if p.states = plus(p.states, n); p.states > maxStates {
		return nil, 0, fmt.Errorf("the regular expression repeats too much: there are %d states together, at most %d are allowed", p.states, maxStates)
	}
	pay(n)
	re, err := regexp.Compile(text)
	return re, n, err
}

// folded gives how many letters are in wide ranges of classes, at the most, that stand for both cases: when
// it is parsed, each is looked at.
func folded(text string) uint64 {
	if !foldedFlag.MatchString(text) {
		return 0
	}
	var letters uint64
	for _, end := range wideRange.FindAllStringSubmatch(text, -1) {
		letter, _ := utf8.DecodeRuneInString(end[2])
		last := uint64(letter) //nolint:gosec // not negative
		if end[1] != "" {
			last, _ = strconv.ParseUint(end[1], 16, 64)
		}
		letters += min(last, lastFolded)
	}
	return letters
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

// matching is the cost of a search with a pattern of so many states: a step for each letter and state.
func matching(text string, n uint64) uint64 { return times(span(len(text)), n/4+1) }

// patterned are the functions whose second argument is a regular expression.
var patterned = map[string]func(re *regexp.Regexp, args []ref.Val, pay func(searches uint64)) ref.Val{
	overloads.Matches: func(re *regexp.Regexp, args []ref.Val, pay func(uint64)) ref.Val {
		pay(1)
		return types.Bool(re.MatchString(textOf(args[0])))
	},
	"find": func(re *regexp.Regexp, args []ref.Val, pay func(uint64)) ref.Val {
		pay(1)
		return types.String(re.FindString(textOf(args[0])))
	},
	"findAll": findAll,
}

// findAll looks for more and more matches, since each may read to the end of the text, and is paid before.
func findAll(re *regexp.Regexp, args []ref.Val, pay func(searches uint64)) ref.Val {
	most := math.MaxInt
	if len(args) > 2 {
		n, ok := args[2].(types.Int)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[2])
		}
		if n >= 0 {
			most = int(n)
		}
	}
	for n := 8; ; n *= 2 {
		n = min(n, most)
		pay(uint64(n + 1)) //nolint:gosec // not negative
		found := re.FindAllString(textOf(args[0]), n)
		if n == most || len(found) < n {
			return types.NewStringList(types.DefaultTypeAdapter, found)
		}
	}
}

// withPattern makes a call run one of them: with the pattern compiled once, where it is a literal.
func (c *call) withPattern(function func(*regexp.Regexp, []ref.Val, func(uint64)) ref.Val, literals *patterns) error {
	searched := func(re *regexp.Regexp, n uint64, left *budget, args []ref.Val) ref.Val {
		return function(re, args, func(searches uint64) { left.spend(times(searches, matching(textOf(args[0]), n))) })
	}
	if literal, ok := c.Args()[1].(interpreter.InterpretableConst); ok {
		re, n, err := literals.compile(textOf(literal.Value()), func(uint64) {})
		if err != nil {
			return fmt.Errorf("invalid %s argument: %w", c.Function(), err)
		}
		c.run = func(left *budget, args []ref.Val) ref.Val {
			if _, ok := args[0].(types.String); !ok {
				return types.MaybeNoSuchOverloadErr(args[0])
			}
			return searched(re, n, left, args)
		}
		return nil
	}
	c.run = func(left *budget, args []ref.Val) ref.Val {
		for _, text := range args[:2] {
			if _, ok := text.(types.String); !ok {
				return types.MaybeNoSuchOverloadErr(text)
			}
		}
		re, n, err := new(patterns).compile(textOf(args[1]), left.spend)
		if err != nil {
			return types.WrapErr(err)
		}
		return searched(re, n, left, args)
	}
	return nil
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
