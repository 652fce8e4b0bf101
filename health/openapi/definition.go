// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"fmt"
	"strings"
)

// definition is a schema as it is written down, as far as it tells types.
type definition struct {
	Ref                  string                 `json:"$ref"`
	Type                 typeName               `json:"type"`
	Properties           map[string]*definition `json:"properties"`
	AdditionalProperties *additional            `json:"additionalProperties"`
	Items                *definition            `json:"items"`
	AllOf                []*definition          `json:"allOf"`
	Enum                 []any                  `json:"enum"`
	Format               string                 `json:"format"`
	IntOrString          bool                   `json:"x-kubernetes-int-or-string"`
	PreserveUnknown      bool                   `json:"x-kubernetes-preserve-unknown-fields"`
	Embedded             bool                   `json:"x-kubernetes-embedded-resource"`
}

// typeName is the name of a type. Of several, of which a value has one, there is none.
type typeName string

// UnmarshalJSON reads a name, or a list of them, in which null does not count.
func (t *typeName) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = typeName(one)
		return nil
	}
	var several []string
	if err := json.Unmarshal(data, &several); err != nil {
		return fmt.Errorf("type: %w", err)
	}
	var left []string
	for _, name := range several {
		if name != "null" {
			left = append(left, name)
		}
	}
	if len(left) == 1 {
		*t = typeName(left[0])
	}
	return nil
}

// additional says which fields an object may have beside those with a name: none, any, or
// those of a schema.
type additional struct {
	whatever bool
	*definition
}

// UnmarshalJSON reads true, false or a schema.
func (a *additional) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &a.whatever) == nil {
		return nil
	}
	a.definition = &definition{}
	return json.Unmarshal(data, a.definition)
}

// alias is the component that a definition consists of, "" when it has content of its own.
func (d *definition) alias() string {
	ref := d.Ref
	if ref == "" && len(d.AllOf) == 1 && d.Type == "" && len(d.Properties) == 0 {
		ref = d.AllOf[0].Ref // so that a description or a default can stand beside it
	}
	return strings.TrimPrefix(ref, "#/components/schemas/")
}

// reader makes Schemas of definitions, one of each component.
type reader struct {
	components map[string]json.RawMessage
	known      map[string]*Schema
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
	if alias := d.alias(); alias != "" {
		r.known[name] = r.component(alias)
		return r.known[name]
	}
	*result = *r.read(&d)
	return result
}

func (r *reader) read(d *definition) *Schema {
	switch {
	case d == nil || d.IntOrString || d.Format == "int-or-string":
		return anything
	case d.alias() != "":
		return r.component(d.alias())
	case len(d.AllOf) > 0 && d.Type == "" && len(d.Properties) == 0:
		return r.merged(d.AllOf)
	}
	switch d.Type {
	case "array":
		return &Schema{Type: List, Elem: r.read(d.Items)}
	case "string":
		return &Schema{Type: String, Enum: texts(d.Enum)}
	case "integer":
		return &Schema{Type: Integer}
	case "number":
		return &Schema{Type: Number}
	case "boolean":
		return &Schema{Type: Boolean}
	case "object":
		return r.object(d)
	}
	if len(d.Properties) > 0 || d.Embedded {
		return r.object(d)
	}
	return anything
}

func (r *reader) object(d *definition) *Schema {
	more := d.AdditionalProperties
	if len(d.Properties) == 0 && !d.Embedded {
		switch {
		case d.PreserveUnknown:
			return anything
		case more != nil && more.definition != nil:
			return mapOf(r.read(more.definition))
		}
		return mapOf(anything) // of which the definition tells no names
	}
	result := &Schema{Type: Object, Fields: map[string]*Schema{}, Open: d.PreserveUnknown || more != nil && (more.whatever || more.definition != nil)}
	for name, field := range d.Properties {
		result.Fields[name] = r.read(field)
	}
	if d.Embedded {
		return root(result)
	}
	return result
}

// merged is what several definitions say of one value together.
func (r *reader) merged(all []*definition) *Schema {
	result := &Schema{Type: Object, Fields: map[string]*Schema{}}
	for _, one := range all {
		part := r.read(one)
		if part.Type != Object {
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
