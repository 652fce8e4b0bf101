// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	kindExtension     = "x-kubernetes-group-version-kind"
	preserveExtension = "x-kubernetes-preserve-unknown-fields"
	referencePrefix   = "#/components/schemas/"
)

// kept are the keywords of an OpenAPI schema that say which values are valid and how lists
// merge. Left out are descriptions, and defaults: convoy-apiserver's are not in its schema,
// and the empty ones for structs would only make the CustomResourceDefinition slower.
var kept = []string{
	"type", "format", "enum", "required", "minimum", "maximum", "pattern", "minLength", "maxLength", "minItems", "maxItems",
	preserveExtension, "x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
}

// openAPI is the part of an OpenAPI v3 document that describes types.
type openAPI struct {
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

// schema is a JSON schema.
type schema = map[string]any

// structuralSchema gives the schema of a kind as a CustomResourceDefinition wants it: without
// references, and open where the document says of an object only that it is one.
func structuralSchema(document []byte, kind string) (schema, error) {
	var d openAPI
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	for name, definition := range d.Components.Schemas {
		if !isKind(definition, kind) {
			continue
		}
		result, err := d.resolve(definition, nil)
		if err != nil {
			return nil, fmt.Errorf("resolve the schema %s: %w", name, err)
		}
		// A CustomResourceDefinition says nothing of metadata but that it is there.
		result["properties"].(schema)["metadata"] = schema{"type": "object"}
		return result, nil
	}
	return nil, fmt.Errorf("the OpenAPI document has no kind %s", kind)
}

func isKind(definition schema, kind string) bool {
	kinds, _ := definition[kindExtension].([]any)
	for _, one := range kinds {
		if gvk, _ := one.(schema); gvk["kind"] == kind {
			return true
		}
	}
	return false
}

// resolve follows the references of a schema; within are the names of those that lead here.
func (d *openAPI) resolve(from schema, within []string) (schema, error) {
	if name, ok := referenced(from); ok {
		definition, known := d.Components.Schemas[name]
		if !known {
			return nil, fmt.Errorf("%s is not in the document", name)
		}
		for _, outer := range within {
			if outer == name {
				return nil, fmt.Errorf("%s contains itself", name)
			}
		}
		return d.resolve(definition, append(within, name))
	}
	result := schema{}
	for _, keyword := range kept {
		if value, ok := from[keyword]; ok {
			result[keyword] = value
		}
	}
	if err := d.resolveMembers(from, result, within); err != nil {
		return nil, err
	}
	if result["type"] == "object" && result["properties"] == nil && result["additionalProperties"] == nil {
		result[preserveExtension] = true
	}
	return result, nil
}

func (d *openAPI) resolveMembers(from, result schema, within []string) error {
	if properties, ok := from["properties"].(schema); ok {
		resolved := schema{}
		for name, property := range properties {
			one, err := d.resolve(property.(schema), within)
			if err != nil {
				return err
			}
			resolved[name] = one
		}
		result["properties"] = resolved
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		member, ok := from[keyword].(schema)
		if !ok {
			continue
		}
		one, err := d.resolve(member, within)
		if err != nil {
			return err
		}
		result[keyword] = one
	}
	return nil
}

// referenced gives the name of the definition that a schema stands for: {$ref}, or
// {allOf: [{$ref}]} where something is said beside it.
func referenced(from schema) (string, bool) {
	if all, ok := from["allOf"].([]any); ok && len(all) == 1 {
		if one, ok := all[0].(schema); ok {
			from = one
		}
	}
	reference, ok := from["$ref"].(string)
	return strings.TrimPrefix(reference, referencePrefix), ok
}
