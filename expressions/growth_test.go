// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	. "github.com/onsi/gomega"
)

// mostCompiled is what compiling an expression may allocate in all.
const mostCompiled = 128 << 20

// The types of an expression do not grow with what is written, as a tree or in depth or number.
func TestTypesAreBounded(t *testing.T) {
	env := testEnvironment(t)
	for _, of := range []struct{ start, level, end string }{
		{"[1]", ".map(a,{a:a})", "==[]"},
		{"[1]", ".map(a,{a:[a]})", "==[]"},
		{"[1]", ".map(a,{[a]:{a:a}})", "==[]"},
		{"[1]", ".map(a,{1:a})", "==[]"},
		{"[1]", ".map(a,{a:1})", "==[]"},
		{"[1]", ".map(a,[a])", "==[]"},
		{"[1]", ".map(a,[a,a])", "==[]"},
		{"[1]", ".map(a,true?{a:a}:{a:a})", "==[]"},
		{"[1]", ".map(a,[?optional.of({a:a})])", "==[]"},
		{"[1]", ".map(a,{a:a}).reverse()", "==[]"},
		{"[1]", ".map(a,optional.of({a:a}))", "==[]"},
		{"[optional.of(1)]", ".map(a,a.optMap(b,{b:b}))", "==[]"},
		{"[int]", ".map(a,{type(a):type(a)})", "==[]"},
		{"true&&", "[[]].all(a,", "[[]].all(b,a[0]==b)"},
		{"true&&", "[{}].all(a,[a,{{a:a}:a}]==[]&&", "true"},
		{"[{}].all(a,true&&", "[{}].all(b,b[a]==a&&[{}].all(a,a[b]==b&&", "true"},
		{"[]", ".sortBy(a,a)", "==[]"}, {"[]", ".sortBy(a,[])", "==[]"}, {"[", "[].sortBy(a,a),", "1]==[]"}, {"[", "[].sortBy(a,[]),", "1]==[]"},
		{"[", "[]+[],", "1]==[]"}, {"", "{}=={}||", "true"}, {"[", "[].min(),", "1]==[]"}, {"[", "[].map(a,a),", "1]==[]"}, {"[", "[[]],", "1]==[]"},
		{"", "optional.none().or(optional.none())==[]||", "true"}, {"[", "{}[{}],", "1]==[]"}, {"", "[]<[]?[]:", "[]"},
		{"object.all(a,", "a+a||", "true"}, {"object.all(a,", "a[a]||", "true"},
		{"", "[", "1"}, {"", "{1:", "1"}, {"", "{{1:", "1"}, {"", "optional.of(", "1"}, {"", "type(", "1"}, {"", "[?optional.of(", "1"},
	} {
		t.Run(of.level, func(t *testing.T) {
			g := NewWithT(t)
			for n := 7; ; n *= 2 {
				text := of.start + strings.Repeat(of.level, n) + of.end
				if text += closing(text); len(text) > MaxBytes {
					return
				}
				bytes := allocated(func() { _, _ = env.Compile(text, cel.BoolType) })
				g.Expect(bytes).To(BeNumerically("<", mostCompiled), "%d levels, %d bytes", n, len(text))
			}
		})
	}
}

// closing gives the brackets that a text lacks.
func closing(text string) string {
	var open []byte
	for _, letter := range []byte(text) {
		if at := strings.IndexByte("([{", letter); at >= 0 {
			open = append(open, ")]}"[at])
		} else if strings.IndexByte(")]}", letter) >= 0 {
			open = open[:len(open)-1]
		}
	}
	slices.Reverse(open)
	return string(open)
}

// With many lists and maps, an expression has the value that it has with few.
func TestManyListsAndMaps(t *testing.T) {
	g := NewWithT(t)
	env := testEnvironment(t)
	for _, text := range []string{
		"[1]" + strings.Repeat(".map(a,[a])", 60) + ".all(a,a" + strings.Repeat("[0]", 60) + "==1)",
		"[1]" + strings.Repeat(".map(a,{a:a}).map(a,a.map(b,a[b])[0])", 30) + "==[1]",
		"[{'a':[1,2]}" + strings.Repeat(",{'a':[1,2]}", 70) + "].all(a,a.a.map(b,b+1)==[2,3])",
		"lists.range(9999).map(a,a)" + strings.Repeat(".map(a,a)", 3) + ".size()==9999&&[" + strings.Repeat("[1],", 70) + "[1]].distinct()==[[1]]",
		"[?optional.of(1)" + strings.Repeat(",?optional.of(1)", 60) + "].size()==61",
		"['a'.split(',')" + strings.Repeat(",['b','c']", 70) + "].size()==71",
	} {
		holds, err := evaluated(g, env, text, nil, Budget)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(holds).To(BeTrue(), text)
	}
}

// What takes too much work to check is refused before it is checked.
func TestCheckIsBounded(t *testing.T) {
	g := NewWithT(t)
	env := testEnvironment(t)
	for text, refused := range map[string]bool{
		"[]" + strings.Repeat(".sortBy(a,a)", 160) + "==[]":                                   true,
		"[" + strings.Repeat("[]+[],", 330) + "[]]==[]":                                       true,
		strings.Repeat("object.a in ['x','y','z']||", 75) + "true":                            false,
		strings.Repeat("has(object.a.b)&&object.?a.?b.orValue('')=='c'&&", 42) + "true":       false,
		strings.Repeat("object.l.exists(c,c.type=='R'&&c.status=='T')&&", 43) + "true":        false,
		strings.Repeat("object.?a.orValue({})=={}||object.?b.orValue([])==[]||", 30) + "true": false,
	} {
		_, err := env.Compile(text, cel.BoolType)
		if refused {
			g.Expect(err).To(MatchError(ContainSubstring("too large to be checked")), text)
		} else {
			g.Expect(err).NotTo(HaveOccurred(), text)
		}
	}
}

// A function's type that repeats what it is given would let types double.
func TestNoFunctionDoublesTypes(t *testing.T) {
	g := NewWithT(t)
	var params func(of *cel.Type) int
	params = func(of *cel.Type) (n int) {
		if of.Kind() == types.TypeParamKind {
			return 1
		}
		for _, part := range of.Parameters() {
			n += params(part)
		}
		return n
	}
	for name, function := range testEnvironment(t).CEL().Functions() {
		for _, overload := range function.OverloadDecls() {
			g.Expect(params(overload.ResultType())).To(BeNumerically("<", 2), name)
		}
	}
}

// wideClasses is a regular expression each of whose letters stands for a hundred thousand.
var wideClasses = "(?i)" + strings.Repeat(`[B-\\x{1e942}]`, 20)

// Regular expressions are paid for before they are parsed, and for each match.
func TestPatternsAreBounded(t *testing.T) {
	env := testEnvironment(t)
	object := map[string]any{"object": map[string]any{
		"text": strings.Repeat("x", 20_000), "wide": strings.ReplaceAll(wideClasses, `\\`, `\`),
		"letters": strings.Repeat(`\pL`, 300), "short": "abc",
	}}
	t.Run("a literal with wide classes", func(t *testing.T) {
		for _, class := range []string{`[B-\\x{1e942}]`, `[B-𞥂]`, `[a\\x{0}-\\x{10ffff}]`} {
			for _, flag := range []string{"(?i)", "(?si)", "(?s-m:)(?i:)(?i)", "(?mi:)(?i)"} {
				_, err := env.Compile(`"a".matches("`+flag+strings.Repeat(class, 20)+`")`, cel.BoolType)
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring("folds too many letters")), flag+class)
			}
		}
	})
	t.Run("literals together", func(t *testing.T) {
		g := NewWithT(t)
		for text, message := range map[string]string{
			strings.Repeat(`"".matches("(?:a?b?c?){999}")||`, 2) + "true":                   "repeats too much",
			strings.Repeat(`"".matches("(?i)[B-\\x{1e942}]")||`, 3) + "true":                "folds too many letters",
			`"".matches("x{900}") || "".find("x{900}") == "" || "".findAll("x{900}") == []`: "",
		} {
			program, err := env.Compile(text, cel.BoolType)
			if message == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(program.held).To(BeNumerically(">", 2700*stateBytes))
				continue
			}
			g.Expect(err).To(MatchError(ContainSubstring(message)), text)
		}
	})
	t.Run("what is common", func(t *testing.T) {
		g := NewWithT(t)
		for _, text := range []string{
			`"ÄbÇ".matches("(?i)^[a-zà-ÿ]+$") && "x".matches("(?i)[^\"]+") && "字".matches("(?i)[一-龥]")`,
			`lists.range(9999).all(i, "ready 3/5".matches("(?i)^READY [0-9]+/[0-9]+$"))`,
			`"aaa".findAll("^a") == ["a"] && "a1b22c".findAll("[0-9]*") == ["", "1", "22", ""] && "a1b22c".findAll("[0-9]+", 1) == ["1"]`,
			`"abc".findAll("[a-z]", 0) == [] && "abc".findAll("[a-z]", -1) == ["a", "b", "c"] && "abc".findAll("\\b.|c") == ["a", "c"]`,
		} {
			holds, err := evaluated(g, env, text, object, Budget)
			g.Expect(err).NotTo(HaveOccurred(), text)
			g.Expect(holds).To(BeTrue(), text)
		}
	})
	for name, text := range map[string]string{
		"wide classes in a text":       `lists.range(9999).all(i, !object.short.matches(object.wide) || true)`,
		"letters of all scripts":       `lists.range(9999).all(i, !object.short.matches(object.letters) || true)`,
		"each match reads to the end":  `object.text.findAll("x*y|x").size() > 0`,
		"some matches read to the end": `object.text.findAll("x*y|x", 15000).size() > 0`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := evaluated(g, env, text, object, Budget/5)
			g.Expect(err).To(MatchError(Or(ContainSubstring(tooMuch), ContainSubstring("folds too many letters"))))
		})
	}
}

// What is looked for and looped over is paid for by what is read.
func TestSearchesAreBounded(t *testing.T) {
	g := NewWithT(t)
	lists, fields := make([]any, 100_000), map[string]any{}
	for i := range lists {
		lists[i] = []any{}
		fields[fmt.Sprint("k", i)] = "v"
	}
	object := map[string]any{"object": map[string]any{"lists": lists, "fields": fields, "maps": []any{fields}}}
	for _, text := range []string{
		`lists.range(20).all(i, object.lists.indexOf([i]) == -1)`,
		`lists.range(20).all(i, object.lists.lastIndexOf([i]) == -1)`,
		`lists.range(20).all(i, !([i] in object.lists))`,
		`lists.range(20).all(i, object.fields.exists(k, true))`,
		`lists.range(20).all(i, optional.of(1).optFlatMap(x, object.fields).exists(k, true))`,
	} {
		_, err := evaluated(g, testEnvironment(t), text, object, Budget)
		g.Expect(err).To(MatchError(ContainSubstring(tooMuch)), text)
	}
	// The cost is not more work than what is looked for: the element that is a list is not read.
	gets := 0
	long := types.NewRefValList(types.DefaultTypeAdapter, slices.Repeat([]ref.Val{types.IntOne}, 10_000))
	list := types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{&countedList{Lister: long, gets: &gets}})
	g.Expect(costOf(operators.In)([]ref.Val{types.IntOne, list}, Budget)).To(BeNumerically("<", 100))
	g.Expect(gets).To(BeNumerically("<", 100))
}

// countedList counts what is read of a list.
type countedList struct {
	traits.Lister
	gets *int
}

func (c *countedList) Get(index ref.Val) ref.Val {
	*c.gets++
	return c.Lister.Get(index)
}
