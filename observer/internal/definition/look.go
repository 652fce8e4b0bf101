// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// props is a schema, or a part of one.
type props = apiextensionsv1.JSONSchemaProps

// look is one object that is held against a schema.
type look struct {
	patterns *patterns
	left     *atomic.Int64
	faults   field.ErrorList
}

// spend counts what was looked at; false when no more is to be.
func (l *look) spend(n int) bool { return l.left.Add(-int64(n)) > 0 }

// full tells that no more faults are told.
func (l *look) full() bool { return len(l.faults) >= maxFaults }

func (l *look) fault(path *field.Path, format string, args ...any) {
	if !l.full() {
		l.faults = append(l.faults, &field.Error{
			Type: field.ErrorTypeInvalid, Field: nameOf(path), BadValue: field.OmitValueType{}, Detail: fmt.Sprintf(format, args...),
		})
	}
}

func nameOf(path *field.Path) string {
	if path == nil {
		return "object"
	}
	return path.String()
}

// inner gives the schema of a field; nil where there is none.
func inner(s *props, name string) *props {
	if found, ok := s.Properties[name]; ok {
		return &found
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema
	}
	return nil
}

// place is what decides at a value on fields that its schema does not declare.
type place struct {
	// object: it is a whole object, or holds one.
	object bool
	// free: the schema, or one above it, preserves unknown fields.
	free bool
}

// takes tells whether a field may be there.
func (p place) takes(s *props, name string) bool {
	if _, ok := s.Properties[name]; ok || p.object && slices.Contains(ofObjects, name) {
		return true
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema != nil || s.AdditionalProperties.Allows
	}
	// What declares no fields at all is of any form to a server-side apply.
	return p.free || len(s.Properties) == 0 && !p.object
}

// ofObjects are the fields that every object has, and that no schema has to declare.
var ofObjects = []string{"apiVersion", "kind", "metadata"}

// declared finds fields that the schema does not declare: a server-side apply refuses them.
func (l *look) declared(value any, s *props, path *field.Path, at place) {
	if s == nil || !l.spend(1) || l.full() {
		return
	}
	at.free = at.free || s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	at.object = at.object || s.XEmbeddedResource
	switch value := value.(type) {
	case map[string]any:
		if s.Type != "object" && s.Type != "" {
			return // which is another fault
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if at.object && name == "metadata" {
				continue // it has all the fields that metadata has, whatever a schema says of some
			}
			if !at.takes(s, name) {
				l.fault(path.Child(name), "the schema declares no such field")
			}
			l.declared(value[name], inner(s, name), path.Child(name), place{free: at.free})
		}
	case []any:
		if s.Items == nil {
			return
		}
		for i, item := range value {
			l.declared(item, s.Items.Schema, path.Index(i), place{free: at.free})
		}
	}
}

// complete fills in defaults, also for what is null and may not be.
func (l *look) complete(value any, s *props) {
	if s == nil || !l.spend(1) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if !l.spend(len(s.Properties)) {
			return
		}
		for name, of := range s.Properties {
			if _, ok := value[name]; !ok && of.Default != nil {
				value[name] = l.defaulted(of.Default)
			}
		}
		for name, got := range value {
			of := inner(s, name)
			if of == nil {
				continue
			}
			if got == nil && !of.Nullable && of.Default != nil {
				value[name] = l.defaulted(of.Default)
			}
			l.complete(value[name], of)
		}
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			return
		}
		for i, item := range value {
			if of := s.Items.Schema; item == nil && !of.Nullable && of.Default != nil {
				value[i] = l.defaulted(of.Default)
			}
			l.complete(value[i], s.Items.Schema)
		}
	}
}

// defaulted gives a default, which counts by its size: it may be there as often as an item of a list.
func (l *look) defaulted(from *apiextensionsv1.JSON) any {
	if !l.spend(len(from.Raw)) {
		return nil
	}
	return decoded(from)
}

func decoded(from *apiextensionsv1.JSON) any {
	var value any
	if err := utiljson.Unmarshal(from.Raw, &value); err != nil {
		return nil
	}
	return value
}
