// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"errors"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

var widget = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

const document = `{
"openapi": "3.0.0",
"info": {"title": "Kubernetes"},
"components": {"schemas": {
	"com.example.v1.Widget": {
		"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}],
		"properties": {
			"metadata": {"description": "x", "default": {}, "allOf": [{"$ref": "#/components/schemas/io.k8s.ObjectMeta"}]},
			"spec": {"$ref": "#/components/schemas/com.example.v1.WidgetSpec"}
		}
	},
	"com.example.v1.WidgetSpec": {"type": "object", "properties": {
		"quantity": {"$ref": "#/components/schemas/Quantity"},
		"port": {"$ref": "#/components/schemas/IntOrString"},
		"child": {"$ref": "#/components/schemas/com.example.v1.WidgetSpec"},
		"children": {"type": "array", "items": {"default": {}, "allOf": [{"$ref": "#/components/schemas/com.example.v1.WidgetSpec"}]}},
		"also": {"$ref": "#/components/schemas/Alias"},
		"loop": {"$ref": "#/components/schemas/LoopA"},
		"gone": {"$ref": "#/components/schemas/Gone"},
		"broken": {"$ref": "#/components/schemas/Broken"},
		"both": {"allOf": [{"$ref": "#/components/schemas/Part"}, {"type": "object", "properties": {"b": {"type": "integer"}}}]},
		"odd": {"allOf": [{"$ref": "#/components/schemas/Part"}, {"type": "string"}]},
		"maybe": {"type": ["string", "null"]},
		"either": {"type": ["string", "integer"]},
		"time": {"$ref": "#/components/schemas/Time"}
	}},
	"io.k8s.ObjectMeta": {"type": "object", "properties": {"name": {"type": "string"}, "resourceVersion": {"type": "string"}, "extra": {"type": "boolean"}}},
	"Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
	"IntOrString": {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
	"Time": {"type": "string", "format": "date-time"},
	"Alias": {"$ref": "#/components/schemas/com.example.v1.WidgetSpec"},
	"LoopA": {"$ref": "#/components/schemas/LoopB"},
	"LoopB": {"$ref": "#/components/schemas/LoopA"},
	"Broken": {"type": 3},
	"Part": {"type": "object", "properties": {"a": {"type": "string"}}}
}}}`

func TestDocument(t *testing.T) {
	g := NewWithT(t)
	d, err := ParseDocument([]byte(document))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Kinds()).To(ConsistOf(widget))
	g.Expect(d.Schema(schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Widget"})).To(BeNil())

	whole := d.Schema(widget)
	g.Expect(whole.Type).To(Equal(Object))
	g.Expect(whole.Open).To(BeFalse())
	g.Expect(slices.Sorted(maps.Keys(whole.Fields))).To(Equal([]string{"apiVersion", "kind", "metadata", "spec"}))
	g.Expect(whole.Fields["metadata"].Fields).To(HaveKey("extra"), "what the server says of metadata counts")

	spec := whole.Fields["spec"]
	for name, want := range map[string]Type{
		"quantity": Any, "port": Any, "gone": Any, "broken": Any, "loop": Any, "odd": Any, "either": Any,
		"child": Object, "children": List, "also": Object, "both": Object, "maybe": String, "time": String,
	} {
		g.Expect(spec.Fields[name].Type).To(Equal(want), name)
	}
	g.Expect(spec.Fields["child"]).To(BeIdenticalTo(spec), "it contains itself")
	g.Expect(spec.Fields["children"].Elem).To(BeIdenticalTo(spec))
	g.Expect(spec.Fields["also"]).To(BeIdenticalTo(spec))
	g.Expect(slices.Sorted(maps.Keys(spec.Fields["both"].Fields))).To(Equal([]string{"a", "b"}))
}

func TestNoDocument(t *testing.T) {
	for _, test := range []struct {
		name, given string
		none        bool
	}{
		{"another version", `{"swagger": "2.0", "definitions": {}}`, true},
		{"something else", `{"kind": "List"}`, true},
		{"no JSON", `openapi: 3.0.0`, false},
		{"cut off", `{"openapi": "3.0.0", "components": {"schemas": {"A": {`, false},
		{"another form", `{"openapi": "3.0.0", "components": {"schemas": {"A": []}}}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := ParseDocument([]byte(test.given))
			g.Expect(err).To(HaveOccurred())
			g.Expect(errors.Is(err, ErrNoDocument)).To(Equal(test.none))
		})
	}
}

func definitionOf(g *WithT, manifest string) (map[schema.GroupVersionKind]*Schema, error) {
	data, err := yaml.YAMLToJSON([]byte(manifest))
	g.Expect(err).NotTo(HaveOccurred())
	return OfDefinition(data)
}

func TestDefinition(t *testing.T) {
	g := NewWithT(t)
	schemas, err := definitionOf(g, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  names: {kind: Widget}
  versions:
    - {name: v1alpha1, served: false, schema: {openAPIV3Schema: {type: object}}}
    - {name: v1beta1, served: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
    - name: v1
      served: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            metadata: {type: object}
            spec:
              type: object
              properties:
                any: {type: object, x-kubernetes-preserve-unknown-fields: true}
                open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}
                wider: {type: object, additionalProperties: true, properties: {a: {type: string}}}
                map: {type: object, additionalProperties: {type: array, items: {type: integer}}}
                loose: {type: object, additionalProperties: true}
                bare: {type: object}
                both: {x-kubernetes-int-or-string: true}
                object: {type: object, x-kubernetes-embedded-resource: true}
                embedded: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, properties: {a: {type: string}}}}}
                texts: {type: string, enum: [a, b], nullable: true}
                numbers: {type: integer, enum: [1, 2]}
                mixed: {type: string, enum: [a, 1]}
                untyped: {}
                implied: {properties: {a: {type: boolean}}}
                list: {type: array}
`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(schemas).To(HaveLen(2), "of the versions that are served")
	g.Expect(schemas[schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Widget"}].Open).To(BeTrue())

	whole := schemas[widget]
	g.Expect(whole.Open).To(BeFalse())
	g.Expect(whole.Fields["metadata"].Fields["labels"].Elem.Type).To(Equal(String))
	spec := whole.Fields["spec"].Fields
	for name, want := range map[string]Type{
		"any": Any, "open": Object, "wider": Object, "map": Map, "loose": Map, "bare": Map, "both": Any, "object": Object,
		"embedded": Object, "texts": String, "numbers": Integer, "mixed": String, "untyped": Any, "implied": Object, "list": List,
	} {
		g.Expect(spec[name].Type).To(Equal(want), name)
	}
	for name, want := range map[string]bool{"open": true, "wider": true, "embedded": false, "implied": false} {
		g.Expect(spec[name].Open).To(Equal(want), name)
	}
	g.Expect(spec["map"].Elem.Elem.Type).To(Equal(Integer))
	g.Expect(spec["bare"].Elem.Type).To(Equal(Any))
	g.Expect(spec["list"].Elem.Type).To(Equal(Any))
	g.Expect(spec["texts"].Enum).To(Equal([]string{"a", "b"}))
	g.Expect(spec["mixed"].Enum).To(BeEmpty())
	g.Expect(spec["embedded"].Fields).To(HaveKey("kind"))
	g.Expect(spec["embedded"].Fields["metadata"].Fields).To(HaveKey("annotations"))
	g.Expect(spec["object"].Fields).To(HaveKey("metadata"))
}

func TestNoDefinition(t *testing.T) {
	for _, test := range []struct {
		name, given string
		none        bool
	}{
		{"another kind", `{apiVersion: v1, kind: ConfigMap}`, true},
		{"another version", `{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition}`, true},
		{"another form", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {versions: {v1: {}}}}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := definitionOf(g, test.given)
			g.Expect(err).To(HaveOccurred())
			g.Expect(errors.Is(err, ErrNoDefinition)).To(Equal(test.none))
		})
	}
}
