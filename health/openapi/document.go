// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrNoDocument says that a text is no OpenAPI document of version 3.
var ErrNoDocument = errors.New("no OpenAPI document of version 3")

// Document is what an API server publishes of the kinds of a group version.
type Document struct {
	reader reader
	kinds  map[schema.GroupVersionKind]string
}

// ParseDocument reads a document in JSON. The error is ErrNoDocument when it is something
// else, or why it is not well formed.
func ParseDocument(data []byte) (*Document, error) {
	var content struct {
		OpenAPI    string `json:"openapi"`
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(content.OpenAPI, "3.") {
		return nil, ErrNoDocument
	}
	components := content.Components.Schemas
	d := &Document{reader: reader{components: components, known: map[string]*Schema{}}, kinds: map[schema.GroupVersionKind]string{}}
	for name, component := range components {
		var of struct {
			Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(component, &of); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		for _, kind := range of.Kinds {
			d.kinds[kind] = name
		}
	}
	return d, nil
}

// Schema gives the schema of the objects of a kind, nil when the document has none. It is not
// safe for concurrent use.
func (d *Document) Schema(kind schema.GroupVersionKind) *Schema {
	name, ok := d.kinds[kind]
	if !ok {
		return nil
	}
	return root(d.reader.component(name))
}

// Kinds are those that the document has schemas of.
func (d *Document) Kinds() []schema.GroupVersionKind {
	kinds := make([]schema.GroupVersionKind, 0, len(d.kinds))
	for kind := range d.kinds {
		kinds = append(kinds, kind)
	}
	return kinds
}
