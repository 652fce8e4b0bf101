// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// withComponents is a document in which the spec of Widgets is the component C0.
func withComponents(components ...string) []byte {
	return []byte(`{"openapi": "3.0.0", "components": {"schemas": {"W": {"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}],
		"properties": {"spec": {"$ref": "#/components/schemas/C0"}}}, ` + strings.Join(components, ", ") + `}}}`)
}

func ref(n int) string { return fmt.Sprintf(`{"$ref": "#/components/schemas/C%d"}`, n) }

func specOf(g *WithT, document []byte) *Schema {
	d, err := ParseDocument(document)
	g.Expect(err).NotTo(HaveOccurred())
	return d.Schema(widget).Fields["spec"]
}

// What a server publishes may be anything.
func TestDepthIsBounded(t *testing.T) {
	const levels = 100_000
	chain := make([]string, levels)
	lists := make([]string, levels)
	for i := range chain {
		chain[i] = fmt.Sprintf(`"C%d": %s`, i, ref(i+1))
		lists[i] = fmt.Sprintf(`"C%d": {"type": "array", "items": %s}`, i, ref(i+1))
	}
	for name, components := range map[string][]string{
		"references": chain,
		"lists":      lists,
		"maps":       {`"C0": ` + strings.Repeat(`{"type": "object", "additionalProperties": `, 5000) + "{}" + strings.Repeat("}", 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			schema, depth := specOf(g, withComponents(components...)), 0
			for ; schema.Elem != nil; schema = schema.Elem {
				depth++
			}
			g.Expect(schema.Type).To(Equal(Any))
			g.Expect(depth).To(BeNumerically("<=", deepest))
		})
	}
}

func TestSizeIsBounded(t *testing.T) {
	g := NewWithT(t)
	fields := make([]string, 2000)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"f%d": {}`, i)
	}
	const parts = 1000
	components := []string{`"Base": {"type": "object", "properties": {` + strings.Join(fields, ", ") + `}}`}
	properties := make([]string, parts)
	for i := 1; i <= parts; i++ {
		components = append(components, fmt.Sprintf(`"C%d": {"allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object", "properties": {"own": {}}}]}`, i))
		properties[i-1] = fmt.Sprintf(`"p%d": %s`, i, ref(i))
	}
	components = append(components, `"C0": {"type": "object", "properties": {`+strings.Join(properties, ", ")+`}}`)
	spec, total := specOf(g, withComponents(components...)), 0
	for _, field := range spec.Fields {
		total += len(field.Fields)
	}
	g.Expect(total).To(And(BeNumerically(">", most/2), BeNumerically("<=", most)))
}

// FuzzDocument reads anything that a server may publish.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(document))
	f.Add(withComponents(`"C0": {"type": ["null", "array"], "items": {"allOf": [{"$ref": "#/components/schemas/C0"}], "additionalProperties": true}}`))
	f.Add(withComponents(`"C0": {"properties": {"a": {"x-kubernetes-embedded-resource": true, "enum": [null, "a", 1]}}, "allOf": [7]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ParseDocument(data)
		if err != nil {
			return
		}
		for _, kind := range d.Kinds() {
			if schema := d.Schema(kind); schema == nil || schema.Fields["metadata"] == nil {
				t.Errorf("%s has no metadata", kind)
			}
		}
	})
}
