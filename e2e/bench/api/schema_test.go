// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
)

const document = `{"components": {"schemas": {
  "Other": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Other"}]},
  "Thing": {
    "description": "a thing", "type": "object", "required": ["spec"],
    "x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Thing"}],
    "properties": {
      "kind": {"type": "string", "description": "its kind"},
      "metadata": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Meta"}]},
      "spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Spec"}]}
    }
  },
  "Meta": {"type": "object", "properties": {"name": {"type": "string"}}},
  "Spec": {
    "type": "object",
    "properties": {
      "mode": {"type": "string", "default": "a", "enum": ["a", "b"]},
      "values": {"$ref": "#/components/schemas/Free"},
      "labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
      "steps": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "x-kubernetes-patch-strategy": "merge",
        "items": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Step"}]}
      }
    }
  },
  "Free": {"description": "anything", "type": "object"},
  "Step": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "default": ""}, "after": {"type": "integer", "format": "int32"}}}
}}}`

const structural = `{
  "type": "object", "required": ["spec"],
  "properties": {
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
    "spec": {
      "type": "object",
      "properties": {
        "mode": {"type": "string", "enum": ["a", "b"]},
        "values": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "steps": {
          "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
          "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "after": {"type": "integer", "format": "int32"}}}
        }
      }
    }
  }
}`

func TestStructuralSchema(t *testing.T) {
	g := NewWithT(t)
	got, err := structuralSchema([]byte(document), "Thing")
	g.Expect(err).NotTo(HaveOccurred())
	data, err := json.Marshal(got)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(data).To(MatchJSON(structural))
}

func TestStructuralSchemaFaults(t *testing.T) {
	const open = `{"components": {"schemas": {"Thing": {"x-kubernetes-group-version-kind": [{"kind": "Thing"}], "properties": {"a": {"$ref": "#/components/schemas/`
	for _, test := range []struct{ name, given, want string }{
		{name: "no document", given: "x", want: "read the OpenAPI document"},
		{name: "no kind", given: `{}`, want: "no kind Thing"},
		{name: "a reference to nothing", given: open + `Gone"}}}}}}`, want: "Gone is not in the document"},
		{name: "a circle", given: open + `Ring"}}}, "Ring": {"items": {"$ref": "#/components/schemas/Ring"}}}}}`, want: "Ring contains itself"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := structuralSchema([]byte(test.given), "Thing")
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}
