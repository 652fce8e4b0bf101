// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// jsonTypes tells CEL the fields of Go types as they are in JSON, besides what it knows itself: an
// expression that compares a text with a number, or reads a field that there is not, is told by
// that before anybody depends on it.
type jsonTypes struct {
	types.Provider
	// fields by the name of the type and of the field.
	fields map[string]map[string]*types.FieldType
}

// FindStructType implements types.Provider.
func (j *jsonTypes) FindStructType(name string) (*types.Type, bool) {
	if _, ok := j.fields[name]; ok {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return j.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (j *jsonTypes) FindStructFieldNames(name string) ([]string, bool) {
	fields, ok := j.fields[name]
	if !ok {
		return j.Provider.FindStructFieldNames(name)
	}
	var names []string
	for field := range fields {
		names = append(names, field)
	}
	return names, true
}

// FindStructFieldType implements types.Provider.
func (j *jsonTypes) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	fields, ok := j.fields[name]
	if !ok {
		return j.Provider.FindStructFieldType(name, field)
	}
	found, ok := fields[field]
	return found, ok
}

var (
	marshaler = reflect.TypeFor[json.Marshaler]()
	// textual are the types that are texts in JSON, of those that encode themselves.
	textual = map[reflect.Type]bool{
		reflect.TypeFor[metav1.Time](): true, reflect.TypeFor[metav1.MicroTime](): true, reflect.TypeFor[metav1.Duration](): true,
	}
)

// of gives the CEL type of a Go type, and learns its fields. What encodes itself may be anything.
func (j *jsonTypes) of(t reflect.Type) *types.Type {
	switch {
	case t.Kind() == reflect.Pointer:
		return j.of(t.Elem())
	case textual[t]:
		return types.StringType
	case t.Implements(marshaler), reflect.PointerTo(t).Implements(marshaler):
		return types.DynType
	}
	switch t.Kind() {
	case reflect.String:
		return types.StringType
	case reflect.Bool:
		return types.BoolType
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return types.IntType
	case reflect.Float32, reflect.Float64:
		return types.DoubleType
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return types.StringType // base64
		}
		return types.NewListType(j.of(t.Elem()))
	case reflect.Map:
		return types.NewMapType(types.StringType, j.of(t.Elem()))
	case reflect.Struct:
		return j.object(t)
	}
	return types.DynType
}

func (j *jsonTypes) object(t reflect.Type) *types.Type {
	name := t.String()
	if _, known := j.fields[name]; !known {
		j.fields[name] = map[string]*types.FieldType{}
		j.learn(name, t)
	}
	return cel.ObjectType(name)
}

// learn adds the fields of a struct to those of a type.
func (j *jsonTypes) learn(name string, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case tag == "-" || !field.IsExported():
		case tag == "" && field.Anonymous:
			j.learn(name, field.Type)
		case tag != "":
			j.fields[name][tag] = &types.FieldType{Type: j.of(field.Type)}
		}
	}
}
