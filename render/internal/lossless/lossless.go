// SPDX-License-Identifier: Apache-2.0

// Package lossless decodes YAML and JSON without changing any number: an integer keeps
// all its digits or is an error, never another integer.
//
// YAML is read as kubectl reads it (YAML 1.1 booleans, anchors and merge keys, keys made
// strings); what a document means is the business of others.
package lossless

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// YAML decodes one YAML document into maps, slices, strings, booleans, nil and
// json.Number. Errors name the line where there is one, and never show content.
func YAML(document []byte) (any, error) {
	if err := Check(document); err != nil {
		return nil, err
	}
	converted, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, err
	}
	return JSON(converted)
}

// Check refuses what no decoder decodes without loss or harm: integers of more than 64
// bits, and aliases that make a document enormous.
func Check(document []byte) error {
	if err := checkIntegers(document); err != nil {
		return err
	}
	return CheckAliases(document)
}

// JSON decodes one JSON value into maps, slices, strings, booleans, nil and json.Number.
func JSON(data []byte) (any, error) {
	all, err := JSONStream(data)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("one JSON value expected, %d found", len(all))
	}
	return all[0], nil
}

// JSONStream decodes JSON values that follow each other.
func JSONStream(data []byte) ([]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var all []any
	for {
		var value any
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, jsonError(err, data)
		}
		all = append(all, value)
	}
}

// jsonError says in which line decoding failed.
func jsonError(err error, data []byte) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset > int64(len(data)) {
		return fmt.Errorf("json: %w", err)
	}
	return fmt.Errorf("json: line %d: %w", 1+bytes.Count(data[:syntax.Offset], []byte("\n")), err)
}

// RangeError tells of a number that cannot be kept as it is.
type RangeError struct {
	// Path of the number, for example spec.replicas or data[2].
	Path string
}

// Error names the path, not the number: it may be a secret.
func (e *RangeError) Error() string {
	return strings.TrimPrefix(e.Path, ".") + ": the number does not fit into 64 bits"
}

// Object turns the json.Numbers inside a decoded value into int64 and float64, the only
// numbers of unstructured API objects. It works in place. The error is a *RangeError.
func Object(value any) (any, error) { return Convert(value, objectNumber) }

func objectNumber(n json.Number) (any, bool) {
	if IsInteger(n) {
		i, err := strconv.ParseInt(n.String(), 10, 64)
		return i, err == nil
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	return f, err == nil
}

// IsInteger tells whether a number is written as an integer.
func IsInteger(n json.Number) bool { return !strings.ContainsAny(n.String(), ".eE") }

// Convert replaces, in place, every json.Number inside value by what number gives for it.
// Where number says that it cannot, the error is a *RangeError with the path.
func Convert(value any, number func(json.Number) (any, bool)) (any, error) {
	switch v := value.(type) {
	case json.Number:
		converted, ok := number(v)
		if !ok {
			return nil, &RangeError{}
		}
		return converted, nil
	case map[string]any:
		for key, inner := range v {
			converted, err := Convert(inner, number)
			if err != nil {
				return nil, under("."+key, err)
			}
			v[key] = converted
		}
	case []any:
		for i, inner := range v {
			converted, err := Convert(inner, number)
			if err != nil {
				return nil, under("["+strconv.Itoa(i)+"]", err)
			}
			v[i] = converted
		}
	}
	return value, nil
}

func under(step string, err error) error {
	var r *RangeError
	if errors.As(err, &r) {
		return &RangeError{Path: step + r.Path}
	}
	return err
}
