// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"reflect"
	"slices"
	"strings"
)

// bounded gives a function of the same type that takes from the budget what a call costs:
// a step, what it gives, and, before it is made, what could become large at once. A limit
// is a panic, which the text/template library makes an error of that names the place: most
// of these functions have no error to give.
func (r *run) bounded(name string, function any) any {
	b := bound{run: r, before: r.before(name)}
	if slices.Contains(volatile, name) {
		b.volatile = true
	}
	b.passes = slices.Contains(passing, name)
	if b.steps = 1; slices.Contains(slowFunctions, name) {
		b.steps = slow
	}
	switch f := function.(type) { // the common ones, without reflection
	case func(string) string:
		return func(s string) string { b.call(s); return b.text(f(s)) }
	case func(string, string) string:
		return func(s, t string) string { b.call(s, t); return b.text(f(s, t)) }
	case func(string, string, string) string:
		return func(s, t, u string) string { b.call(s, t, u); return b.text(f(s, t, u)) }
	case func(int, string) string:
		return func(n int, s string) string { b.call(n, s); return b.text(f(n, s)) }
	case func(any) string:
		return func(v any) string { b.call(v); return b.text(f(v)) }
	case func(string, any) string:
		return func(s string, v any) string { b.call(s, v); return b.text(f(s, v)) }
	case func(...any) string:
		return func(v ...any) string { b.call(v...); return b.text(f(v...)) }
	case func(string, ...any) string:
		return func(s string, v ...any) string { b.callWith(s, v); return b.text(f(s, v...)) }
	case func(any, ...any) any:
		return func(v any, more ...any) any { b.callWith(v, more); return b.value(f(v, more...)) }
	case func(any) bool:
		return func(v any) bool { b.call(v); return f(v) }
	case func(map[string]any, string) bool:
		return func(m map[string]any, s string) bool { b.call(m, s); return f(m, s) }
	case func(...any) map[string]any:
		return func(v ...any) map[string]any { b.call(v...); return b.value(f(v...)).(map[string]any) }
	case func(...any) []any:
		return func(v ...any) []any { b.call(v...); return b.value(f(v...)).([]any) }
	}
	return b.reflected(reflect.ValueOf(function))
}

// bound is what a bounded function takes from the budget.
type bound struct {
	*run
	steps    int64
	volatile bool
	// passes is true when what the function gives was there before.
	passes bool
	// before is called with the arguments, when it is set.
	before func(args []any) error
}

// reflected bounds a function of any type.
func (b bound) reflected(function reflect.Value) any {
	t := function.Type()
	return reflect.MakeFunc(t, func(in []reflect.Value) []reflect.Value {
		var args []any
		if b.before != nil {
			args = flat(in, t.IsVariadic())
		}
		b.call(args...)
		var out []reflect.Value
		if t.IsVariadic() {
			out = function.CallSlice(in)
		} else {
			out = function.Call(in)
		}
		b.value(out[0].Interface())
		return out
	}).Interface()
}

func flat(in []reflect.Value, variadic bool) []any {
	var args []any
	for i, v := range in {
		if variadic && i == len(in)-1 {
			for j := range v.Len() {
				args = append(args, v.Index(j).Interface())
			}
			continue
		}
		args = append(args, v.Interface())
	}
	return args
}

func (b bound) call(args ...any) {
	if b.volatile {
		b.run.volatile = true
	}
	must(b.step(b.steps))
	if b.before != nil {
		must(b.before(args))
	}
}

func (b bound) callWith(first any, more []any) {
	if b.before == nil {
		b.call()
		return
	}
	b.call(append([]any{first}, more...)...)
}

func (b bound) text(s string) string {
	must(b.made(int64(len(s))))
	return s
}

// perItem is about what an item of a list takes, and an entry of a map.
const perItem = 16

// passing are the functions that give what they, or something in what they, were given.
var passing = []string{
	"set", "unset", "get", "default", "coalesce", "ternary", "dig", "first", "mustFirst", "last", "mustLast",
	"merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite",
}

// value takes what a value takes by itself; what is in it was made before.
func (b bound) value(v any) any {
	if b.passes {
		must(b.made(perItem))
		return v
	}
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
	case string:
		b.text(v)
	case []any:
		must(b.made(int64(len(v)) * perItem))
	case map[string]any:
		must(b.made(int64(len(v)) * perItem))
	default:
		r := reflect.ValueOf(v)
		switch r.Kind() {
		case reflect.Slice, reflect.Map, reflect.String:
			must(b.made(int64(r.Len()) * perItem))
		}
	}
	return v
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// before gives what has to be known of a call beforehand: functions that read all of a
// value, and those that can make much of little. nil for all others.
func (r *run) before(name string) func(args []any) error {
	switch name {
	case "toYaml", "toYamlPretty", "toToml", "toJson", "mustToJson", "toPrettyJson", "mustToPrettyJson", "toRawJson", "mustToRawJson",
		"toString", "toStrings", "quote", "squote", "cat", "print", "println", "html", "js", "urlquery", "sortAlpha",
		"deepCopy", "mustDeepCopy", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite", "deepEqual":
		return func(args []any) error { return r.whole(args...) }
	case "dict": // prints its keys
		return func(args []any) error {
			for i := 0; i < len(args); i += 2 {
				if err := r.whole(args[i]); err != nil {
					return err
				}
			}
			return nil
		}
	case "uniq", "mustUniq", "without", "mustWithout", "has", "mustHas":
		return r.beforeComparing
	case "join":
		return func(args []any) error {
			if err := r.whole(args[1]); err != nil {
				return err
			}
			return r.may(length(args[0]) * items(args[1]))
		}
	case "printf":
		return r.beforePrintf
	case "seq", "until", "untilStep":
		return r.beforeCounting(name)
	case "repeat", "randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes":
		return func(args []any) error {
			if len(args) == 1 {
				args = append(args, " ")
			}
			return r.product(number(args[0]), length(args[1]))
		}
	case "indent", "nindent":
		return func(args []any) error {
			return r.product(number(args[0]), int64(strings.Count(args[1].(string), "\n"))+1)
		}
	case "wrapWith":
		return func(args []any) error { return r.product(length(args[2]), 1+length(args[1])) }
	case "replace":
		return func(args []any) error {
			return r.product(int64(strings.Count(args[2].(string), args[0].(string))), length(args[1]))
		}
	case "regexReplaceAll", "regexReplaceAllLiteral", "mustRegexReplaceAll", "mustRegexReplaceAllLiteral":
		return func(args []any) error { return r.product(1+length(args[1]), 1+length(args[2])) }
	}
	return nil
}

// product tells whether n times m bytes could be made.
func (r *run) product(n, m int64) error {
	if n <= 0 || m <= 0 {
		return nil
	}
	if n > r.limits.Value/m {
		return r.tooLarge()
	}
	return r.may(n * m)
}

// beforeComparing is for functions that compare each with each.
func (r *run) beforeComparing(args []any) error {
	if err := r.whole(args...); err != nil {
		return err
	}
	n := int64(len(args))
	for _, arg := range args {
		n += items(arg)
	}
	return r.step(n * n / 16)
}

// exact is up to where counting cannot overflow.
const exact = 1 << 53

// beforeCounting is for functions that make numbers in a row.
func (r *run) beforeCounting(name string) func(args []any) error {
	return func(args []any) error {
		from, to, by := int64(0), int64(0), int64(1)
		switch {
		case len(args) == 1:
			to = number(args[0])
		case len(args) == 2:
			from, to = number(args[0]), number(args[1])
		case len(args) == 3 && name == "seq":
			from, by, to = number(args[0]), number(args[1]), number(args[2])
		case len(args) == 3:
			from, to, by = number(args[0]), number(args[1]), number(args[2])
		}
		if max(from, to, by) > exact || min(from, to, by) < -exact {
			return r.tooLarge()
		}
		return r.product((max(from, to)-min(from, to))/max(by, -by, 1), perItem)
	}
}

// beforePrintf guesses from above: every verb may print the longest argument, and its width.
func (r *run) beforePrintf(args []any) error {
	format, _ := args[0].(string)
	if err := r.whole(args[1:]...); err != nil {
		return err
	}
	var longest, widths int64
	for _, arg := range args[1:] {
		longest = max(longest, r.sizeOf(arg))
	}
	verbs := strings.Split(format, "%")[1:]
	for _, verb := range verbs {
		widths += width(verb)
	}
	return r.product(1, int64(len(verbs))*longest+widths)
}

// maxWidth is the most that fmt takes for a width.
const maxWidth = 1_000_000

// width gives from above what the width and the precision of a verb add, of which the %
// is taken off.
func width(verb string) int64 {
	var total, digits int64
	for _, c := range verb {
		switch {
		case c >= '0' && c <= '9':
			digits = min(10*digits+int64(c-'0'), maxWidth)
			continue
		case c == '*':
			total += maxWidth
		case strings.ContainsRune("+-# .[]", c):
			total += digits
		default:
			return total + digits
		}
		digits = 0
	}
	return total + digits
}

func number(v any) int64 {
	r := reflect.ValueOf(v)
	if r.CanInt() {
		return r.Int()
	}
	return 0
}

func length(v any) int64 {
	s, _ := v.(string)
	return int64(len(s))
}

// items gives how many items a list has; 0 for what is no list.
func items(v any) int64 {
	if r := reflect.ValueOf(v); r.IsValid() && (r.Kind() == reflect.Slice || r.Kind() == reflect.Array) {
		return int64(r.Len())
	}
	return 0
}
