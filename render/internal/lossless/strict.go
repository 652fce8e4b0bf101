// SPDX-License-Identifier: Apache-2.0

package lossless

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Strict decodes a text as YAML or JSON decode it. A text that is JSON is read as JSON, of which
// not all is YAML. Refused is, besides what YAML refuses, what decoders pass over: a key that a
// map has twice, a number that no floating point number holds, which YAML makes a text of; and
// what has more than most bytes once its aliases are written out, PerValue for each value
// included, by an error in whose chain is a *limit.Error.
func Strict(text []byte, most int64) (any, error) {
	value, err := JSON(text)
	if err == nil {
		fields := json.NewDecoder(bytes.NewReader(text))
		fields.UseNumber()
		return value, checkFields(fields)
	}
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err == nil { // else the decoder tells what is wrong
		if err := checkExpansion(&node, most); err != nil {
			return nil, err
		}
		if err := checkStrictly(&node); err != nil {
			return nil, err
		}
	}
	return YAML(text)
}

// checkFields refuses a JSON value in which a map has a key twice.
func checkFields(d *json.Decoder) error {
	token, err := d.Token()
	opened, nested := token.(json.Delim)
	if err != nil || !nested {
		return err
	}
	keys := map[string]bool{}
	for d.More() {
		if opened == '{' {
			if token, err = d.Token(); err != nil {
				return err
			}
			key, _ := token.(string)
			if keys[key] {
				return fmt.Errorf("json: the key %q is there twice", key)
			}
			keys[key] = true
		}
		if err := checkFields(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

var floatLiteral = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// checkStrictly looks at a node and what is below it. Aliases are not followed: what they stand
// for is in the tree anyway.
func checkStrictly(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode && node.Style == 0 && floatLiteral.MatchString(node.Value) {
		if _, err := strconv.ParseFloat(node.Value, 64); err != nil {
			return fmt.Errorf("yaml: line %d: the number does not fit into 64 bits; quote it if it is meant as text", node.Line)
		}
	}
	if node.Kind == yaml.MappingNode {
		if err := checkKeys(node); err != nil {
			return err
		}
	}
	for _, child := range node.Content {
		if err := checkStrictly(child); err != nil {
			return err
		}
	}
	return nil
}

// checkKeys refuses a map that has a key twice. What it is merged with may have it, too.
func checkKeys(mapping *yaml.Node) error {
	keys := map[string]bool{}
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			continue
		}
		if keys[key.Value] {
			return fmt.Errorf("yaml: line %d: the key %q is there twice", key.Line, key.Value)
		}
		keys[key.Value] = true
	}
	return nil
}
