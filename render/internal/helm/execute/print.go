// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
)

// What Go prints of a value is not always what can be in a manifest: of a large whole
// floating point number it is 1e+06, which is no integer any more, and of a pointer in a
// value it is an address, another one in each process. Values stay what Helm makes of them,
// so that they compare, count and convert the same; where one is printed, something else is
// printed in its place.

const (
	// plainBelow is up to where floating point numbers print without an exponent anyway.
	plainBelow = 1_000_000
	// exactUpTo is up to where floating point numbers hold every integer.
	exactUpTo = 1 << 53
)

// integer gives a number of which an integer has to be printed.
func integer(f float64) (int64, bool) {
	if size := math.Abs(f); size < plainBelow || size > exactUpTo || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// form makes what is printed in the place of values.
type form struct {
	// number is printed for a number, of which i is the integer.
	number func(f float64, i int64) any
	// long is printed for an integer that no floating point number holds, if it is set.
	long func(i any) any
	// structures is true when pointers and structs have to be without addresses. Encoders
	// follow pointers by themselves.
	structures bool
}

var (
	// encoded is for encoders, shown for what Go prints.
	encoded = form{number: asInteger}
	shown   = form{number: asInteger, structures: true}
	// formatted is for what is printed by verbs.
	formatted = form{number: func(f float64, i int64) any { return large{f, i} }, long: func(i any) any { return long{i} }, structures: true}
)

func asInteger(_ float64, i int64) any { return i }

// all gives what is printed in the place of several values.
func (f form) all(values []any) []any {
	printed, _ := f.items(values, 0)
	return printed
}

// one gives what is printed in the place of a value.
func (f form) one(v any) any {
	printed, _ := f.of(v, 0)
	return printed
}

// of gives what is printed in the place of a value that lies depth deep in others, and
// whether that is another value.
func (f form) of(v any, depth int) (any, bool) {
	switch v := v.(type) {
	case nil, bool, string, int, []string, []byte:
		return v, false
	case int64, uint64:
		if f.long != nil && isLong(v) {
			return f.long(v), true
		}
		return v, false
	case float64:
		if i, ok := integer(v); ok {
			return f.number(v, i), true
		}
		return v, false
	case map[string]any:
		return f.entries(v, depth)
	case chartutil.Values:
		return f.entries(v, depth)
	case []any:
		return f.items(v, depth+1)
	}
	if !f.structures {
		return v, false
	}
	return f.reflected(reflect.ValueOf(v), depth)
}

// items is of for values that lie depth deep in others.
func (f form) items(values []any, depth int) ([]any, bool) {
	var copied []any
	for i, v := range values {
		if printed, other := f.of(v, depth); other {
			if copied == nil {
				copied = slices.Clone(values)
			}
			copied[i] = printed
		}
	}
	if copied == nil {
		return values, false
	}
	return copied, true
}

func (f form) entries(m map[string]any, depth int) (any, bool) {
	var copied map[string]any
	for key, item := range m {
		if printed, other := f.of(item, depth+1); other {
			if copied == nil {
				copied = maps.Clone(m)
			}
			copied[key] = printed
		}
	}
	if copied == nil {
		return m, false
	}
	return copied, true
}

// reflected is of for all other types.
func (f form) reflected(v reflect.Value, depth int) (any, bool) {
	value := v.Interface()
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return value, false
		}
		if v.Elem().Kind() == reflect.Struct {
			return structure{form: f, value: v.Elem(), whole: value, referred: depth == 0}, true
		}
		inner, _ := f.of(v.Elem().Interface(), depth+1)
		return inner, true
	case reflect.Struct:
		return structure{form: f, value: v, whole: value}, true
	case reflect.Slice, reflect.Array:
		if isBasic(v.Type().Elem().Kind()) {
			return value, false
		}
		items := make([]any, v.Len())
		for i := range items {
			items[i], _ = f.of(v.Index(i).Interface(), depth+1)
		}
		return items, true
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String || isBasic(v.Type().Elem().Kind()) {
			return value, false
		}
		entries := make(map[string]any, v.Len())
		for all := v.MapRange(); all.Next(); {
			entries[all.Key().String()], _ = f.of(all.Value().Interface(), depth+1)
		}
		return entries, true
	}
	return value, false
}

func isBasic(kind reflect.Kind) bool {
	return kind == reflect.String || reflect.Bool <= kind && kind <= reflect.Uint64
}

// noAddress is printed in the place of addresses.
const noAddress = "0xc000000000"

// structure is printed in the place of a struct, as Go prints one, but with what its
// pointers point to.
type structure struct {
	form  form
	value reflect.Value
	// whole is the struct, or the pointer to it. referred is true when a pointer to it is
	// printed with the sign for it.
	whole    any
	referred bool
}

// Format prints the struct, by its own method if it has one.
func (t structure) Format(s fmt.State, verb rune) {
	switch t.whole.(type) {
	case fmt.Formatter, fmt.Stringer, error:
		if strings.ContainsRune("vsqxX", verb) && !s.Flag('#') {
			fmt.Fprintf(s, fmt.FormatString(s, verb), t.whole)
			return
		}
	}
	before, between := "{", " "
	named := s.Flag('+') || s.Flag('#')
	if s.Flag('#') && verb == 'v' {
		before, between = t.value.Type().String()+before, ", "
	}
	if t.referred {
		before = "&" + before
	}
	_, _ = io.WriteString(s, before)
	for i := range t.value.NumField() {
		if i > 0 {
			_, _ = io.WriteString(s, between)
		}
		if named {
			_, _ = io.WriteString(s, t.value.Type().Field(i).Name+":")
		}
		fmt.Fprintf(s, fmt.FormatString(s, verb), t.field(i))
	}
	_, _ = io.WriteString(s, "}")
}

// field gives what is printed of a field. One that is not exported can only be printed by
// fmt, which prints it as if it were by itself.
func (t structure) field(i int) any {
	field := t.value.Field(i)
	if field.CanInterface() {
		printed, _ := t.form.of(field.Interface(), 1)
		return printed
	}
	switch field.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		if field.IsNil() {
			return nil
		}
		if field.Kind() == reflect.Pointer {
			return address{}
		}
	}
	return field
}

// address is printed as an address.
type address struct{}

// Format prints always the same.
func (address) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, noAddress) }

// large is a large whole number. By %v it prints as an integer, by all other verbs as the
// floating point number that it is.
type large struct {
	float   float64
	integer int64
}

// Format prints the number.
func (n large) Format(s fmt.State, verb rune) {
	var printed any = n.float
	if _, cut := s.Precision(); verb == 'v' && !s.Flag('#') && !cut {
		printed = n.integer
	}
	fmt.Fprintf(s, fmt.FormatString(s, verb), printed)
}

// long is an integer that no floating point number holds. By the verbs of those it prints
// with all digits.
type long struct{ integer any }

// Format prints the number.
func (e long) Format(s fmt.State, verb rune) {
	printed := e.integer
	if strings.ContainsRune("eEfFgG", verb) {
		printed, _ = asBig(e.integer)
	}
	fmt.Fprintf(s, fmt.FormatString(s, verb), printed)
}

// asBig gives a number of values as it is; ok is false for what is none.
func asBig(v any) (_ *big.Float, ok bool) {
	n := new(big.Float).SetPrec(64)
	switch v := v.(type) {
	case int64:
		return n.SetInt64(v), true
	case uint64:
		return n.SetUint64(v), true
	case int:
		return n.SetInt64(int64(v)), true
	case float64:
		if !math.IsNaN(v) {
			return n.SetFloat64(v), true
		}
	}
	return nil, false
}

// numbers gives two numbers of which one is an integer that floating point numbers do not
// hold; ok is false for others.
func numbers(a, b any) (x, y *big.Float, ok bool) {
	if !isLong(a) && !isLong(b) {
		return nil, nil, false
	}
	x, isNumber := asBig(a)
	y, isOther := asBig(b)
	return x, y, isNumber && isOther
}

// isLong tells whether a value is an integer that floating point numbers do not hold.
func isLong(v any) bool {
	switch v := v.(type) {
	case int64:
		return v > exactUpTo || v < -exactUpTo
	case uint64:
		return v > exactUpTo
	}
	return false
}

// Verbs that fmt handles before it asks what it prints for its own way, and what stands for
// them meanwhile.
const (
	typeVerb    = '\ue054'
	addressVerb = '\ue070'
)

var (
	reserved = regexp.MustCompile(`%%|%[-+# 0-9.*\[\]]*[Tp]`)
	restored = strings.NewReplacer(string(typeVerb), "T", string(addressVerb), "p")
)

// printf is fmt.Sprintf with what is printed in the place of values.
func printf(format string, args ...any) string {
	printed := slices.Clone(args)
	for i, arg := range args {
		printed[i] = formatted.one(arg)
	}
	used := usedBy(format, len(args))
	for i := used; i < len(args); i++ {
		printed[i] = surplus.one(args[i])
	}
	if !reserved.MatchString(strings.ReplaceAll(format, "%%", "")) {
		return fmt.Sprintf(format, printed...)
	}
	format = reserved.ReplaceAllStringFunc(format, func(verb string) string {
		switch verb[len(verb)-1] {
		case 'T':
			return verb[:len(verb)-1] + string(typeVerb)
		case 'p':
			return verb[:len(verb)-1] + string(addressVerb)
		}
		return verb
	})
	for i, arg := range args[:used] {
		// A width must stay a number.
		if _, isInt := arg.(int); !isInt || !strings.Contains(format, "*") {
			printed[i] = typed{is: arg, printed: printed[i]}
		}
	}
	return restored.Replace(fmt.Sprintf(format, printed...))
}

// surplus is what is printed of values that a format has no verb for, with their types: numbers
// as they are, and what lies in pointers.
var surplus = form{number: func(f float64, _ int64) any { return f }, structures: true}

// nothing is printed as nothing.
type nothing struct{}

func (nothing) Format(fmt.State, rune) {}

// usedBy tells how many of some values a format has verbs for.
func usedBy(format string, values int) int {
	extras := func(n int) int {
		return strings.Count(fmt.Sprintf(format, slices.Repeat([]any{nothing{}}, n)...), "%!(EXTRA ")
	}
	none := extras(0)
	if extras(values) == none {
		return values
	}
	return sort.Search(values, func(n int) bool { return extras(n+1) > none })
}

// typed is printed in the place of a value of which the type or the address is asked for.
type typed struct{ is, printed any }

// Format prints the type, an address that tells nothing, or the value.
func (t typed) Format(s fmt.State, verb rune) {
	switch kind := reflect.ValueOf(t.is).Kind(); {
	case verb == typeVerb && t.is == nil:
		fmt.Fprintf(s, fmt.FormatString(s, 'v'), nil)
	case verb == typeVerb:
		fmt.Fprintf(s, fmt.FormatString(s, 's'), fmt.Sprintf("%T", t.is))
	case verb == addressVerb && slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan}, kind):
		fmt.Fprintf(s, fmt.FormatString(s, 's'), noAddress)
	case verb == addressVerb:
		fmt.Fprintf(s, fmt.FormatString(s, verb), t.is)
	default:
		fmt.Fprintf(s, fmt.FormatString(s, verb), t.printed)
	}
}

// printing gives functions that print their arguments something else to print.
func printing(function any) any {
	switch f := function.(type) {
	case func(any) string:
		return func(v any) string { return f(shown.one(v)) }
	case func(...any) string:
		return func(v ...any) string { return f(shown.all(v)...) }
	case func(string, any) string:
		return func(s string, v any) string { return f(s, shown.one(v)) }
	case func(any) []string:
		return func(v any) []string { return f(shown.one(v)) }
	}
	panic(fmt.Sprintf("a function that prints is a %T", function))
}

// printers are the functions that print their arguments as Go does.
var printers = []string{
	"quote", "squote", "toString", "toStrings", "cat", "join", "sortAlpha", "print", "println", "html", "js", "urlquery",
}
