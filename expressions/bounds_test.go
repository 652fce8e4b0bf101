// SPDX-License-Identifier: Apache-2.0

package expressions

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	. "github.com/onsi/gomega"
)

const tooMuch = "takes too much work"

// What a call would do is refused before it is done.
func TestRefusedBeforeItIsDone(t *testing.T) {
	env, object := testEnvironment(t), hostile()
	doubled := "[object.text]" + strings.Repeat(".map(a, a + a)", 60)
	shared := "[[object.text]]" + strings.Repeat(".map(a, [a, a])", 45)
	for name, text := range map[string]string{
		"a result that is too long":          `object.text.replace("", object.text) == ""`,
		"a separator that is too long":       `object.list.join(object.text) == ""`,
		"texts that double":                  doubled + " == []",
		"lists that double":                  "[object.list]" + strings.Repeat(".map(a, a + a)", 60) + " == []",
		"lists within each other, compared":  shared + " == " + shared,
		"lists within each other, as a text": `"%s".format([` + shared + `]) == ""`,
		"loops in loops":                     "lists.range(9999).all(a, lists.range(9999).all(b, lists.range(9999).all(c, true)))",
		"loops without a call":               "lists.range(9999).exists_one(a, lists.range(9999).exists_one(b, lists.range(9999).exists_one(c, false)))",
		"filters that keep nothing":          "lists.range(9999).filter(a, lists.range(9999).filter(b, false) != []) != []",
		"long lists":                         "lists.range(9999).map(a, [a" + strings.Repeat(", 1", 600) + "]) == []",
		"large maps":                         "lists.range(9999).map(a, lists.range(99).map(b, {b: {}, a: {}})) == []",
		"letters as a list":                  `object.text.split("").map(c, object.text.split("")) == []`,
		"errors that quote":                  `lists.range(9999).exists(i, {"a": true}[object.text])`,
		"texts that are looked up":           `lists.range(9999).all(i, object.text in ["a", "b"] || true) && lists.range(9999).all(i, {object.text: 1} != {})`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := evaluated(g, env, text, object, Budget)
			g.Expect(err).To(MatchError(ContainSubstring(tooMuch)))
		})
	}
}

// An expression goes on after an error, but not after it took too much.
func TestNothingGoesOnAfterTheBudget(t *testing.T) {
	g := NewWithT(t)
	_, err := evaluated(g, testEnvironment(t), `true || object.text.replace("", object.text) == "" ? object.text.replace("", object.text) == "" || true : true`, hostile(), Budget)
	g.Expect(err).To(MatchError(ContainSubstring(tooMuch)))
}

// The text of an expression is bounded, before it is parsed and with its macros expanded.
func TestCompileIsBounded(t *testing.T) {
	env := testEnvironment(t)
	for name, of := range map[string]struct{ text, err string }{
		"its length":                     {`"` + strings.Repeat("x", MaxBytes) + `" == ""`, "at most 2048 are allowed"},
		"its depth":                      {strings.Repeat("(", 900) + "true" + strings.Repeat(")", 900), "recursion"},
		"patterns that repeat":           {`object.text.matches("` + strings.Repeat("(x{30}){30}", 20) + `")`, "repeats too much"},
		"patterns that are long":         {`object.text.find("` + strings.Repeat("x", maxPattern+1) + `") == ""`, "regular expression has 1025 bytes"},
		"elements that are not optional": {`[?object.list] == []`, "cannot be checked"},
		"patterns that are none":         {`object.text.matches("(")`, "missing closing )"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			bytes := allocated(func() {
				_, err := env.Compile(of.text, cel.BoolType)
				g.Expect(err).To(MatchError(ContainSubstring(of.err)))
			})
			g.Expect(bytes).To(BeNumerically("<", mostAllocated))
		})
	}
}

// optMap and optFlatMap take their target once: a chain of them is as long as it is written.
func TestOptionalChains(t *testing.T) {
	g := NewWithT(t)
	env := testEnvironment(t)
	chain := "optional.of(1)" + strings.Repeat(".optMap(v, v + 1)", 60) + ".orValue(0) == 61"
	bytes := allocated(func() {
		holds, err := evaluated(g, env, chain, nil, Budget)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(holds).To(BeTrue())
	})
	g.Expect(bytes).To(BeNumerically("<", mostAllocated))
	for _, text := range []string{
		`optional.of(2).optMap(v, optional.of(v).optMap(w, w + v).value()).value() == 4`,
		`optional.none().optMap(v, v) == optional.none()`,
		`optional.of("a").optFlatMap(v, optional.none()).orValue("b") == "b"`,
		`{"a": {"b": "c"}}.?a.optFlatMap(v, v.?b).optMap(v, v + "d").orValue("") == "cd"`,
	} {
		holds, err := evaluated(g, env, text, nil, Budget)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(holds).To(BeTrue(), text)
	}
}

// What a rule quotes in an error is not as long as the object has it.
func TestErrorsAreShort(t *testing.T) {
	g := NewWithT(t)
	for _, text := range []string{`object.fields[object.text] == ""`, `int(object.text) == 1`, `url(object.text) == url("")`, `timestamp(object.text) == timestamp(object.text)`} {
		_, err := evaluated(g, testEnvironment(t), text, hostile(), Budget)
		g.Expect(err).To(HaveOccurred(), text)
	}
}
