// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"strings"
)

const (
	// deepest is how deep a schema is read, through all components that it refers to. Those of
	// Kubernetes, which contain themselves, have some 30 levels.
	deepest = 256
	// most is how many fields, lists and maps of one document are read. Those of Kubernetes have
	// some 10,000.
	most = 500_000
)

// definition is a schema as it is written down, decoded as a whole: parts that decode themselves
// would be read as often as they are deep.
type definition map[string]any

func (d definition) text(field string) string {
	text, _ := d[field].(string)
	return text
}

func (d definition) is(field string) bool {
	is, _ := d[field].(bool)
	return is
}

func (d definition) list(field string) []any {
	list, _ := d[field].([]any)
	return list
}

func (d definition) properties() map[string]any {
	properties, _ := d["properties"].(map[string]any)
	return properties
}

// typeName is the name of a type. Of several, of which a value has one and which may be null, it
// is the one that is left, or there is none.
func (d definition) typeName() string {
	var left []string
	for _, name := range d.list("type") {
		if name, ok := name.(string); ok && name != "null" {
			left = append(left, name)
		}
	}
	if len(left) == 1 {
		return left[0]
	}
	return d.text("type")
}

// alias is the component that a definition consists of, "" when it has content of its own.
func (d definition) alias() string {
	ref := d.text("$ref")
	if all := d.list("allOf"); ref == "" && len(all) == 1 && d.parts() {
		ref = asDefinition(all[0]).text("$ref") // so that a description or a default can stand beside it
	}
	return strings.TrimPrefix(ref, "#/components/schemas/")
}

// parts tells that a definition is made of those in allOf alone.
func (d definition) parts() bool {
	return len(d.list("allOf")) > 0 && d.typeName() == "" && len(d.properties()) == 0
}

// asDefinition is a decoded definition; nil, of which nothing is known, for something else.
func asDefinition(value any) definition {
	d, _ := value.(map[string]any)
	return d
}

// reader makes Schemas of definitions, one of each component.
type reader struct {
	components map[string]json.RawMessage
	known      map[string]*Schema
	depth      int
	read       int // fields, lists and maps
}

// component gives the schema of a component; what is not there, or not well formed, is Any.
func (r *reader) component(name string) *Schema {
	if known, ok := r.known[name]; ok {
		return known
	}
	// It may contain itself.
	result := &Schema{}
	r.known[name] = result
	var d definition
	if json.Unmarshal(r.components[name], &d) != nil {
		return result
	}
	if d.alias() != "" {
		r.known[name] = r.schema(d)
		return r.known[name]
	}
	*result = *r.schema(d)
	return result
}

// schema gives the schema of a definition. What is beyond the bounds is Any.
func (r *reader) schema(d definition) *Schema {
	r.depth++
	r.read++
	defer func() { r.depth-- }()
	switch {
	case r.depth > deepest || r.read > most || d.is("x-kubernetes-int-or-string") || d.text("format") == "int-or-string":
		return anything
	case d.alias() != "":
		return r.component(d.alias())
	case d.parts():
		return r.merged(d.list("allOf"))
	}
	switch d.typeName() {
	case "array":
		return &Schema{Type: List, Elem: r.schema(asDefinition(d["items"]))}
	case "string":
		return &Schema{Type: String, Enum: texts(d.list("enum"))}
	case "integer":
		return &Schema{Type: Integer}
	case "number":
		return &Schema{Type: Number}
	case "boolean":
		return &Schema{Type: Boolean}
	case "object":
		return r.object(d)
	}
	if len(d.properties()) > 0 || d.is("x-kubernetes-embedded-resource") {
		return r.object(d)
	}
	return anything
}

func (r *reader) object(d definition) *Schema {
	more, whatever := asDefinition(d["additionalProperties"]), d.is("additionalProperties")
	preserves, embedded := d.is("x-kubernetes-preserve-unknown-fields"), d.is("x-kubernetes-embedded-resource")
	if len(d.properties()) == 0 && !embedded {
		switch {
		case preserves:
			return anything
		case more != nil:
			return mapOf(r.schema(more))
		}
		return mapOf(anything) // of which the definition tells no names
	}
	result := &Schema{Type: Object, Fields: map[string]*Schema{}, Open: preserves || whatever || more != nil}
	for name, field := range d.properties() {
		result.Fields[name] = r.schema(asDefinition(field))
	}
	if embedded {
		return root(result)
	}
	return result
}

// merged is what several definitions say of one value together.
func (r *reader) merged(all []any) *Schema {
	result := &Schema{Type: Object, Fields: map[string]*Schema{}}
	for _, one := range all {
		part := r.schema(asDefinition(one))
		r.read += len(part.Fields)
		if part.Type != Object || r.read > most {
			return anything
		}
		for name, field := range part.Fields {
			result.Fields[name] = field
		}
		result.Open = result.Open || part.Open
	}
	return result
}

// texts are the values of an enumeration; none when one of them is no text.
func texts(values []any) []string {
	var result []string
	for _, value := range values {
		text, ok := value.(string)
		if !ok && value != nil {
			return nil
		}
		if ok {
			result = append(result, text)
		}
	}
	return result
}
