// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	. "github.com/onsi/gomega"
)

// mostAllocated is what one evaluation may allocate in all, what is freed in the meantime included,
// oneCall what of it a single call may.
const (
	mostAllocated = 64 << 20
	oneCall       = 16 << 20
)

func testEnvironment(t *testing.T) *Environment {
	t.Helper()
	env, err := NewEnvironment(cel.Variable("object", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// hostile is an object as large as the API server takes one.
func hostile() map[string]any {
	list, fields := make([]any, 10_000), map[string]any{}
	for i := range list {
		list[i] = strings.Repeat("x", 100)
		fields[fmt.Sprint("field", i)] = strings.Repeat("x", 100)
	}
	return map[string]any{"object": map[string]any{
		"text": strings.Repeat("x", 1<<20), "list": list, "fields": fields, "digits": strings.Repeat("9", 1<<20),
		"query": "http://h/?" + strings.Repeat("a&", 1<<19), "pattern": strings.Repeat("(x?){1000}", 1<<17),
		"lists": []any{list, list, list}, "ints": slices.Repeat([]any{int64(7)}, 100_000),
	}}
}

// allocated gives how many bytes a function allocates.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// evaluated compiles and evaluates a condition, and demands that it stays within bounds: of what it
// may allocate in all, the part that the units are of the budget, beside what the result of one call takes.
func evaluated(g Gomega, env *Environment, text string, object map[string]any, units uint64) (value bool, err error) {
	program, err := env.Compile(text, cel.BoolType)
	g.Expect(err).NotTo(HaveOccurred(), text)
	bytes := allocated(func() { value, err = evaluate[bool](program, object, units) })
	g.Expect(bytes).To(BeNumerically("<", oneCall+(mostAllocated-oneCall)*units/Budget), text)
	if err != nil {
		g.Expect(len(err.Error())).To(BeNumerically("<", maxError+10), text)
		g.Expect(err.Error()).NotTo(ContainSubstring("internal error"), text)
	}
	return value, err
}

// Every function, whatever it is given: once, and as often as a loop can call it.
func TestEveryFunctionIsBounded(t *testing.T) {
	g := NewWithT(t)
	env, object := testEnvironment(t), hostile()
	tried := 0
	for _, name := range slices.Sorted(maps.Keys(env.CEL().Functions())) {
		function := env.CEL().Functions()[name]
		for _, overload := range function.OverloadDecls() {
			for i, call := range hostileCalls(name, overload) {
				_, _ = evaluated(g, env, "type("+call+") == int", object, Budget/5)
				tried++
				if i == 0 {
					_, _ = evaluated(g, env, "lists.range(10000).all(i, type("+call+") == int || true)", object, Budget/20)
				}
			}
		}
	}
	g.Expect(tried).To(BeNumerically(">", 300))
}

// written are calls of functions that are written otherwise than by their name.
var written = map[string][]string{
	operators.Conditional: {"object.text == '' ? object.list : object.text"},
	operators.Index:       {"object.fields[object.text]", "object.list[object.text]", "{object.text: 1}[object.text]"},
	operators.OptIndex:    {"object.fields[?object.text]", "object.list[?5]"},
	operators.OptSelect:   {"object.?text"},
	operators.In:          {"object.text in object.list", "object.text in object.fields", "object.list in object.lists", "object.list in [object.list]"},
	operators.OldIn:       nil, overloads.DeprecatedIn: nil,
	"@sortByAssociatedKeys":    {"object.list.sortBy(e, e)", "object.list.sortBy(e, object.text)"},
	"math.@max":                {"math.greatest(object.list)", "math.greatest(object.ints)", "math.greatest(1, 2)"},
	"math.@min":                {"math.least(object.list)", "math.least(object.ints)"},
	operators.NotStrictlyFalse: {"object.list.exists(e, e == object.text)"}, operators.OldNotStrictlyFalse: nil,
	turnOf: {"object.list.map(e, object.list)"}, weighed: {"[object.list, object.fields]"}, looped: {"object.fields.all(k, k != '')"},
	keyed: {"{object.text: object.list}"},
}

// hostileCalls writes calls of an overload with large arguments.
func hostileCalls(name string, overload *decls.OverloadDecl) []string {
	if calls, ok := written[name]; ok {
		return calls
	}
	var calls []string
	for variant := range 3 {
		var args []string
		for _, of := range overload.ArgTypes() {
			args = append(args, hostileValue(of, name, len(args), variant))
		}
		symbol, isOperator := operators.FindReverse(name)
		switch {
		case isOperator && len(args) == 1:
			calls = append(calls, symbol+"("+args[0]+")")
		case isOperator && len(args) == 2:
			calls = append(calls, "("+args[0]+") "+symbol+" ("+args[1]+")")
		case overload.IsMemberFunction():
			calls = append(calls, "("+args[0]+")."+name+"("+strings.Join(args[1:], ", ")+")")
		default:
			calls = append(calls, name+"("+strings.Join(args, ", ")+")")
		}
	}
	slices.Sort(calls)
	return slices.Compact(calls)
}

func hostileValue(of *types.Type, function string, at, variant int) string {
	switch of.Kind() {
	case types.StringKind:
		if function == "format" && at == 0 {
			return []string{`"%s"`, `"%.999999999f"`, `object.text`}[variant]
		}
		if (function == "matches" || function == "find" || function == "findAll") && at == 1 {
			return []string{`"(x+x+)+y"`, "object.pattern", `""`}[variant]
		}
		if variant == 2 && at == 1 {
			return `""`
		}
		return []string{"string(object.text)", "string(object.digits)", "string(object.text)"}[variant]
	case types.BytesKind:
		return "bytes(object.text)"
	case types.ListKind:
		switch of.Parameters()[0].Kind() {
		case types.ListKind, types.DynKind, types.TypeParamKind:
			return []string{"object.list", "object.lists", "[object.fields]"}[variant]
		}
		return []string{"object.list", "object.ints", "object.ints + object.ints"}[variant]
	case types.MapKind:
		return "object.fields"
	case types.IntKind:
		return []string{"1000000000", "-1", "5"}[variant]
	case types.UintKind:
		return "1000000000u"
	case types.DoubleKind:
		return "1e308"
	case types.BoolKind:
		return "object.text == ''"
	case types.DurationKind:
		return "duration('1h')"
	case types.TimestampKind:
		return "timestamp('2020-01-01T00:00:00Z')"
	case types.NullTypeKind:
		return "null"
	case types.TypeKind:
		return "type(object)"
	}
	switch of.TypeName() {
	case "optional_type":
		return []string{"object.?text", "object.?none", "optional.of(object.list)"}[variant]
	case quantityKind.of.TypeName():
		return "quantity('9223372036854775807999e9')"
	case urlKind.of.TypeName():
		return "url(object.query)"
	case semverKind.of.TypeName():
		return "semver('1.0.0-' + object.text)"
	case formatKind.of.TypeName():
		return []string{"format.dns1123Subdomain()", "format.byte()", "format.uri()"}[variant]
	case "net.IP":
		return "ip('::1')"
	case "net.CIDR":
		return "cidr('10.0.0.0/8')"
	}
	return []string{"object.text", "object.fields", "object.list"}[variant] // of any type
}
