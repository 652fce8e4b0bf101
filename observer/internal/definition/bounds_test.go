// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Whoever writes the schema and the objects must not keep the process busy.
func TestEffortIsBounded(t *testing.T) {
	g := NewWithT(t)
	any := strings.Repeat("{minLength: 1}, ", 1000)
	set := New(widgets("{type: object, properties: {l: {type: array, items: {type: string, allOf: [" + any + "]}}}}"))
	set.left.Store(effort / 100)
	items := strings.Repeat("a, ", 200)
	_, err := set.Check(widget("spec: {l: [" + items + "]}"))
	g.Expect(err).To(MatchError(ErrTooMuch))
	_, err = set.Check(widget("spec: {l: 7}"))
	g.Expect(err).To(MatchError(ErrTooMuch), "what is spent is spent, for all objects together")
}

// What a definition has little of can be there as often as an object has items.
func TestSizesAreBounded(t *testing.T) {
	many := "spec: {l: [" + strings.Repeat("{}, ", 1000) + "]}"
	for name, of := range map[string]struct{ items, object string }{
		"defaults":     {"{type: object, properties: {d: {type: array, items: {type: integer}, default: [" + strings.Repeat("1, ", 20_000) + "]}}}", many},
		"enumerations": {"{type: object, enum: [" + strings.Repeat("{a: b}, ", 5_000) + "{}]}", many},
		"properties":   {"{type: object, properties: {" + properties(20_000) + "}}", many},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			set := New(widgets("{type: object, properties: {l: {type: array, items: " + of.items + "}}}"))
			set.left.Store(effort / 10)
			_, err := set.Check(widget(of.object))
			g.Expect(err).To(MatchError(ErrTooMuch))
		})
	}
}

func properties(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "p%d: {type: integer}, ", i)
	}
	return all.String()
}

// A few bytes of a pattern can take more memory and time than a process has.
func TestPatternsAreBounded(t *testing.T) {
	for text, within := range map[string]bool{
		`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`: true,
		`^([a-z]{1,61}\.){1,3}$`:              true,
		`^(\pL{10}){10}$`:                     true,
		`(a{100}b{100}){5}(c{100}d{100}){9}`:  true,
		`((a{10}){10}b{900}){1000}`:           false, // no pattern: it repeats too much
		`(.{999}[a-z]{999}.{999}){999}`:       false,
		`(abcdefghijklmnopqrstuvwxyz){1000}`:  false,
		"a" + strings.Repeat("b", maxPattern): false,
		`(`:                                   false,
	} {
		NewWithT(t).Expect(sizeOf(text) <= maxSteps).To(Equal(within), "%s: %d", text, sizeOf(text))
	}
	g := NewWithT(t)
	_, err := New(widgets("{type: object, properties: {s: {type: string, pattern: '(abcdefghijklmnopqrstuvwxyz){1000}'}}}")).Check(widget("spec: {s: a}"))
	g.Expect(err).NotTo(HaveOccurred(), "what is not looked at is not refused")
	set := New(widgets("{type: object, properties: {s: {type: string, pattern: '^([ab]{1,100}c?)*$'}}}"))
	set.left.Store(effort / 100)
	_, err = set.Check(widget("spec: {s: " + strings.Repeat("ab", 1<<14) + "}"))
	g.Expect(err).To(MatchError(ErrTooMuch))
	set.left.Store(effort)
	var all patterns
	kept := 0
	for i := range 1_000_000 {
		if all.of(fmt.Sprintf(".{900}%d", i), (&look{left: &set.left}).spend).expression != nil {
			kept++
		}
		if set.left.Load() < 0 {
			break
		}
	}
	g.Expect(kept).To(And(BeNumerically(">", 100), BeNumerically("<", 2000)))
}

func TestFaultsAreBounded(t *testing.T) {
	g := NewWithT(t)
	var fields []string
	for i := range 100 {
		fields = append(fields, fmt.Sprintf("f%d: 1", i))
	}
	_, err := New(widgets("{type: object, properties: {a: {type: string}}}")).Check(widget("spec: {" + strings.Join(fields, ", ") + "}"))
	g.Expect(faults(err)).To(HaveLen(maxFaults))
}

// nested is a value within n levels of maps.
func nested(n int, inner any) any {
	for range n {
		inner = map[string]any{"a": inner}
	}
	return inner
}

// within is a definition of Widgets whose schema for spec is made of maps.
func within(schema map[string]any) *unstructured.Unstructured {
	defined := widgets("{type: object}")
	versions := defined.Object["spec"].(map[string]any)["versions"].([]any)
	root := versions[1].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	root["properties"].(map[string]any)["spec"] = schema
	return defined
}

// Definitions are decoded as often as they are deep, and enumerations are compared with each value.
func TestDepthIsBounded(t *testing.T) {
	items := map[string]any{"type": "string"}
	for range maxDepth {
		items = map[string]any{"type": "array", "items": items}
	}
	for name, schema := range map[string]map[string]any{
		"schemas":                    items,
		"enumerations":               {"type": "object", "enum": []any{nested(maxDepth, "x")}},
		"defaults":                   {"type": "object", "default": nested(maxDepth, "x")},
		"enumerations of any length": {"type": "object", "enum": []any{nested(9000, "x")}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := New(within(schema)).Check(widget("spec: {}"))
			g.Expect(err).To(MatchError(ErrTooDeep))
		})
	}
	g := NewWithT(t)
	_, err := New(within(map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "enum": []any{nested(200, "x")}})).Check(widget("spec: {}"))
	g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
}

// What a schema says of one value counts as often as it says it.
func TestProductsAreBounded(t *testing.T) {
	many := func(n int, of map[string]any) []any {
		all := make([]any, n)
		for i := range all {
			all[i] = of
		}
		return all
	}
	list := make([]any, 500)
	fields := map[string]any{}
	for i := range list {
		list[i], fields[fmt.Sprintf("f%d", i)] = fmt.Sprintf("item-%d", i), "x"
	}
	open := map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	for name, test := range map[string]struct {
		says map[string]any
		of   any
	}{
		"values of enumerations": {map[string]any{"enum": []any{int64(1)}}, list},
		"items of sets":          {map[string]any{"x-kubernetes-list-type": "set"}, list},
		"items":                  {map[string]any{"items": open}, list},
		"fields":                 {map[string]any{"maxLength": int64(1)}, fields},
		"texts":                  {map[string]any{"maxLength": int64(1 << 20)}, strings.Repeat("x", 1<<15)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			set := New(within(map[string]any{"x-kubernetes-preserve-unknown-fields": true, "anyOf": many(1000, test.says)}))
			set.left.Store(effort / 100)
			object := widget("spec: {}")
			object.Object["spec"] = test.of
			_, err := set.Check(object)
			g.Expect(err).To(MatchError(ErrTooMuch))
		})
	}
	t.Run("depth and size", func(t *testing.T) {
		g := NewWithT(t)
		schema := map[string]any{"type": "string", "description": strings.Repeat("x", 10<<20)}
		for range 100 {
			schema = map[string]any{"type": "array", "items": schema}
		}
		_, err := New(within(schema)).Check(widget("spec: []"))
		g.Expect(err).To(MatchError(ErrTooMuch))
	})
}

// The message of a fault is for people, however much a schema allows or an object has.
func TestMessagesAreBounded(t *testing.T) {
	g := NewWithT(t)
	enum := make([]any, 1000)
	for i := range enum {
		enum[i] = fmt.Sprintf("value-%d", i)
	}
	required := make([]any, 1000)
	for i := range required {
		required[i] = fmt.Sprintf("f%d", i)
	}
	_, err := New(within(map[string]any{"type": "string", "enum": enum})).Check(widget("spec: x"))
	g.Expect(faults(err)).To(ConsistOf(And(HavePrefix(`spec: Invalid value: must be one of "value-0", "value-1", `), HaveSuffix("…"), WithTransform(func(s string) int { return len(s) }, BeNumerically("<", 1000)))))
	_, err = New(within(map[string]any{"type": "string", "enum": []any{strings.Repeat("ä", 5000)}})).Check(widget("spec: x"))
	g.Expect(len(err.Error())).To(BeNumerically("<", 1000))
	set := New(within(map[string]any{"type": "object", "required": required}))
	found, err := set.hold(set.kinds[schema.GroupKind{Group: "example.com", Kind: "Widget"}], mustVersion(g, set), widget("spec: {}"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(maxFaults), "no more are made than are told")
	object := widget("spec: {}")
	for _, name := range required {
		object.Object[name.(string)] = "x"
	}
	found, err = set.hold(set.kinds[schema.GroupKind{Group: "example.com", Kind: "Widget"}], mustVersion(g, set), object)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(maxFaults))
}

func mustVersion(g *WithT, set *Set) *version {
	v, err := set.kinds[schema.GroupKind{Group: "example.com", Kind: "Widget"}].version("v1")
	g.Expect(err).NotTo(HaveOccurred())
	return v
}

// FuzzCheck holds any object against any schema: neither may end the process or take for ever.
func FuzzCheck(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"array","items":{"enum":[1,{"b":[]}]},"x-kubernetes-list-type":"set"}}}`, `{"a":[1,1]}`)
	f.Add(`{"additionalProperties":{"additionalProperties":true},"not":{"oneOf":[{"required":["a"]},{"pattern":"^(a+)+$"}]}}`, `{"a":{"b":"aaaa"}}`)
	f.Add(`{"items":[{"default":{}}],"default":[null],"allOf":[{"anyOf":[{}]}]}`, `null`)
	f.Add(`{"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"x-kubernetes-embedded-resource":true}}`, `[{"k":1.5},{"k":1.5},7]`)
	f.Fuzz(func(t *testing.T, schema, spec string) {
		var says map[string]any
		var value any
		if utiljson.Unmarshal([]byte(schema), &says) != nil || utiljson.Unmarshal([]byte(spec), &value) != nil {
			t.Skip()
		}
		set := New(within(says))
		set.left.Store(effort / 100)
		given := widget("spec: {}")
		given.Object["spec"] = value
		before := given.DeepCopy()
		_, err := set.Check(given)
		if !reflect.DeepEqual(given, before) {
			t.Error("the object was changed")
		}
		if err != nil && len(err.Error()) > 100_000 {
			t.Errorf("a message of %d bytes", len(err.Error()))
		}
	})
}
