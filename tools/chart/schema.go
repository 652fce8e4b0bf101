// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"maps"

	"go.yaml.in/yaml/v3"
)

// types are those of JSON schema, by the tag of the default.
var types = map[string]string{"!!str": "string", "!!int": "integer", "!!bool": "boolean", "!!seq": "array", "!!map": "object"}

// schemaFile returns the schema of the values: every default's type, and no key that is not
// among them. When the chart is a part of another one, Helm adds the key global, and the usual
// condition of that chart the key enabled.
func schemaFile(values []value) ([]byte, error) {
	schema := objectSchema(values)
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "Values of the chart convoy"
	properties := schema["properties"].(map[string]any)
	properties["global"] = map[string]any{"type": "object"}
	properties["enabled"] = map[string]any{"type": "boolean"}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(schema)
	return out.Bytes(), err
}

func objectSchema(values []value) map[string]any {
	properties := map[string]any{}
	for _, one := range values {
		properties[one.name()] = valueSchema(one)
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

func valueSchema(v value) map[string]any {
	schema := map[string]any{"type": types[v.node.ShortTag()]}
	if v.isObject() {
		schema = objectSchema(v.children)
	}
	if v.same() != "" {
		schema = map[string]any{}
	}
	if v.description != "" {
		schema["description"] = v.description
	}
	maps.Copy(schema, v.schema)
	return schema
}

// scalar returns a default as JSON, which is YAML too.
func scalar(node *yaml.Node) (string, error) {
	var decoded any
	if err := node.Decode(&decoded); err != nil {
		return "", err
	}
	out, err := json.Marshal(decoded)
	return string(out), err
}
