// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// schemaMark begins a line of a comment whose rest is JSON for the schema of the value.
const schemaMark = "@schema "

// value is a value of the chart, as values.yaml has it.
type value struct {
	path        string // keys, joined by dots
	description string
	schema      map[string]any // what narrows the schema, from the line with schemaMark
	node        *yaml.Node     // the default
	children    []value        // of an object whose keys are values themselves
}

// name is the last key of the path.
func (v value) name() string { return v.path[strings.LastIndex(v.path, ".")+1:] }

// same is the path of the value whose schema and description this one shares, or empty.
func (v value) same() string {
	ref, _ := v.schema["$ref"].(string)
	return strings.ReplaceAll(strings.TrimPrefix(ref, "#/properties/"), "/properties/", ".")
}

// readValues reads values.yaml in its order. Every value must have a comment that says what it
// is for, but those below a value that shares its schema with another.
func readValues(data []byte) ([]value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	return readObject("", document.Content[0])
}

func readObject(path string, object *yaml.Node) ([]value, error) {
	var values []value
	for i := 0; i < len(object.Content); i += 2 {
		one, err := readValue(strings.TrimPrefix(path+"."+object.Content[i].Value, "."), object.Content[i], object.Content[i+1])
		if err != nil {
			return nil, err
		}
		values = append(values, one)
	}
	return values, nil
}

func readValue(path string, key, node *yaml.Node) (value, error) {
	one := value{path: path, node: node}
	var words []string
	paragraphs := strings.Split(key.HeadComment, "\n\n")
	for _, line := range strings.Split(paragraphs[len(paragraphs)-1], "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if rest, ok := strings.CutPrefix(line, schemaMark); ok {
			if err := json.Unmarshal([]byte(rest), &one.schema); err != nil {
				return one, fmt.Errorf("%s: %w", path, err)
			}
		} else if line != "" {
			words = append(words, line)
		}
	}
	one.description = strings.Join(words, " ")
	var err error
	if one.isObject() {
		one.children, err = readObject(path, node)
	} else if one.description == "" {
		err = fmt.Errorf("%s has no comment that says what it is for", path)
	}
	return one, err
}

// isObject tells whether the keys below the value are values that the chart knows.
func (v value) isObject() bool {
	_, free := v.schema["additionalProperties"]
	return v.node.Kind == yaml.MappingNode && len(v.node.Content) > 0 && !free && v.same() == ""
}
