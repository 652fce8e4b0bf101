// SPDX-License-Identifier: Apache-2.0

// Package manifest turns the text of manifests into objects: it cuts streams into
// documents, decodes them without changing a number, unrolls lists, takes off what only
// an API server may write, and refuses what cannot be an object of a Release.
//
// It knows nothing of the target cluster: namespaces and scopes are decided elsewhere.
package manifest

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kumodo.io/convoy/render/internal/lossless"
)

// Document is one object of a source.
type Document struct {
	// Object as it stands in the source, cleaned.
	Object *unstructured.Unstructured
	// Origin says where in the source it stands, for people: a file, and the document and
	// list item in it where there are several.
	Origin string
	// Unstable is true when rendering once more gave something else.
	Unstable bool
}

// InvalidError tells of an object that cannot be delivered as it is.
type InvalidError struct {
	// Object and Origin name it.
	Object, Origin string
	// Problem says what is wrong; it shows no values.
	Problem string
}

// Error names the object, the problem and the origin.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: %s (%s)", e.Object, e.Problem, e.Origin)
}

// Decode gives the objects of a file, which is JSON when its name ends in .json, and YAML
// otherwise. Empty documents and comments give none; the items of lists are given in their
// place. An error names the file and the document; the object is at fault, rather than
// the text, when it is an *InvalidError.
func Decode(name string, content []byte) ([]Document, error) {
	values, err := decodeValues(name, content)
	if err != nil {
		return nil, err
	}
	return objects(name, values)
}

// DecodeJSON gives the objects of a JSON text as Decode does, whatever the name is.
func DecodeJSON(name string, content []byte) ([]Document, error) {
	value, err := lossless.JSON(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return objects(name, []any{value})
}

func objects(name string, values []any) ([]Document, error) {
	var documents []Document
	for i, value := range values {
		if value == nil {
			continue
		}
		unrolled, err := unroll(value, origin(name, i, len(values)))
		if err != nil {
			return nil, err
		}
		documents = append(documents, unrolled...)
	}
	for i := range documents {
		if err := Clean(&documents[i]); err != nil {
			return nil, err
		}
	}
	return documents, nil
}

func origin(name string, document, documents int) string {
	if documents == 1 {
		return name
	}
	return fmt.Sprintf("%s, document %d", name, document+1)
}

// decodeValues decodes the documents of a file to values with exact numbers.
func decodeValues(name string, content []byte) ([]any, error) {
	if strings.EqualFold(path.Ext(name), ".json") {
		values, err := lossless.JSONStream(trimMark(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return values, nil
	}
	documents := parts(content)
	values := make([]any, len(documents))
	for i, document := range documents {
		value, err := decodeYAML(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", origin(name, i, len(documents)), err)
		}
		values[i] = value
	}
	return values, nil
}

// decodeYAML decodes a document. An error names the line of the stream that it is part of.
func decodeYAML(document part) (any, error) {
	value, err := lossless.YAML(document.text)
	if err == nil || document.before == 0 {
		return value, err
	}
	return lossless.YAML(append(bytes.Repeat([]byte("\n"), document.before), document.text...))
}

func trimMark(content []byte) []byte {
	return []byte(strings.TrimPrefix(string(content), string(byteOrderMark)))
}

// unroll gives a decoded document as one object, or the objects of a list.
func unroll(value any, origin string) ([]Document, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: this is no Kubernetes manifest: an object with apiVersion and kind is expected, not %s", origin, describe(value))
	}
	if items, ok := listItems(object); ok {
		return unrollItems(object, items, origin)
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if text, ok := object[field].(string); !ok || text == "" {
			return nil, fmt.Errorf("%s: this is no Kubernetes manifest: %s is missing or is not a string", origin, field)
		}
	}
	converted, err := lossless.Object(object)
	if err != nil {
		return nil, &InvalidError{Object: Name(object), Origin: origin, Problem: err.Error()}
	}
	return []Document{{Object: &unstructured.Unstructured{Object: converted.(map[string]any)}, Origin: origin}}, nil
}

// listItems tells whether an object is a list of objects. An object with a name of its own
// is none, whatever its kind is called.
func listItems(object map[string]any) ([]any, bool) {
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	if !strings.HasSuffix(kind, "List") || metadata["name"] != nil {
		return nil, false
	}
	items, ok := object["items"].([]any)
	return items, ok || (object["items"] == nil && kind == "List")
}

func unrollItems(list map[string]any, items []any, origin string) ([]Document, error) {
	kind, _ := list["kind"].(string)
	var documents []Document
	for i, item := range items {
		if object, ok := item.(map[string]any); ok && kind != "List" {
			// The items of a typed list may leave out what the list's own type says.
			setDefault(object, "apiVersion", list["apiVersion"])
			setDefault(object, "kind", strings.TrimSuffix(kind, "List"))
		}
		unrolled, err := unroll(item, fmt.Sprintf("%s, item %d", origin, i+1))
		if err != nil {
			return nil, err
		}
		documents = append(documents, unrolled...)
	}
	return documents, nil
}

func setDefault(object map[string]any, field string, value any) {
	if object[field] == nil {
		object[field] = value
	}
}

func describe(value any) string {
	switch value.(type) {
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case nil:
		return "nothing"
	}
	return "a number"
}

// Name names an object for people: its kind, namespace and name as far as they are known.
func Name(object map[string]any) string {
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if namespace, _ := metadata["namespace"].(string); namespace != "" {
		name = namespace + "/" + name
	}
	return strings.TrimSpace(kind + " " + name)
}
