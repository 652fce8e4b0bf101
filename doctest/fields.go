// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Field is what is known of a field besides its type.
type Field struct {
	// Text says what it means.
	Text     string
	Required bool
}

// Kind is a type of objects whose fields are listed.
type Kind struct {
	// Type is the struct.
	Type reflect.Type
	// Describe tells of a field of a struct by its name in JSON; false leaves it out.
	Describe func(owner reflect.Type, name string) (Field, bool)
	// Default writes the defaults into an object, a pointer to Type.
	Default func(object any)
}

// FieldTable gives a row for each field of a kind below the named ones, and for those that
// they have in turn, as far as they are of the API's own types and Describe knows of them.
func FieldTable(kind Kind, below ...string) string {
	bare := reflect.New(kind.Type)
	filled := reflect.New(kind.Type)
	fill(filled.Elem(), nil)
	kind.Default(bare.Interface())
	kind.Default(filled.Interface())
	table := fieldTable{kind: kind}
	table.out.WriteString("| field | type | default | meaning |\n|---|---|---|---|\n")
	for _, name := range below {
		table.field(kind.Type, fieldNamed(kind.Type, name), "", bare.Elem(), filled.Elem(), []reflect.Type{kind.Type})
	}
	return table.out.String()
}

type fieldTable struct {
	kind Kind
	out  strings.Builder
}

// field writes the row of a field, and those of what it has. bare and filled are values of its
// owner with defaults, the first one of an object in which nothing else is set; they are not
// valid where there is none. above are the types that it is in.
func (t *fieldTable) field(owner reflect.Type, field reflect.StructField, path string, bare, filled reflect.Value, above []reflect.Type) {
	name := jsonName(field)
	described, known := t.kind.Describe(owner, name)
	if !known {
		return
	}
	path = strings.TrimPrefix(path+"."+name, ".")
	bare, filled = member(bare, field), member(filled, field)
	value := defaultOf(bare)
	if value == "" {
		value = defaultOf(filled)
	}
	switch {
	case value != "":
		value = "`" + Cell(value) + "`"
	case described.Required:
		value = "required"
	}
	shown, inner, suffix := typeName(field.Type)
	fmt.Fprintf(&t.out, "| `%s` | %s | %s | %s |\n", path, shown, value, Cell(described.Text))
	for _, outer := range above {
		if outer == inner {
			return
		}
	}
	if inner.Kind() != reflect.Struct || !isOwn(inner) {
		return
	}
	t.fields(inner, path+suffix, item(bare), item(filled), append(above, inner))
}

// fields writes the rows of all fields of a struct, those of embedded ones as its own.
func (t *fieldTable) fields(owner reflect.Type, path string, bare, filled reflect.Value, above []reflect.Type) {
	for i := range owner.NumField() {
		field := owner.Field(i)
		if field.Anonymous && jsonName(field) == "" {
			t.fields(field.Type, path, member(bare, field), member(filled, field), above)
			continue
		}
		t.field(owner, field, path, bare, filled, above)
	}
}

// typeName says what a field is, and gives the type of what it holds and how that is written
// in paths.
func typeName(t reflect.Type) (shown string, inner reflect.Type, suffix string) {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes", t, ""
		}
		shown, inner, suffix = typeName(t.Elem())
		return "list of " + shown, inner, "[]" + suffix
	case reflect.Map:
		shown, inner, suffix = typeName(t.Elem())
		return "map of " + shown, inner, "{}" + suffix
	case reflect.Bool:
		return "boolean", t, ""
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer", t, ""
	}
	switch {
	case t.Kind() != reflect.Struct:
		return t.Kind().String(), t, ""
	case t.Name() == "Duration", t.Name() == "Time", t.Name() == "MicroTime":
		return strings.ToLower(t.Name()), t, ""
	case t.Name() == "RawExtension":
		return "any", t, ""
	}
	return t.Name(), t, ""
}

// isOwn tells the types of the API from those of its libraries, which are not looked into.
func isOwn(t reflect.Type) bool { return strings.HasPrefix(t.PkgPath(), "kumodo.io/convoy/") }

// fill gives a value all that it may have: each pointer to a struct, and one item of each list.
func fill(value reflect.Value, above []reflect.Type) {
	for _, outer := range above {
		if outer == value.Type() {
			return
		}
	}
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				fill(value.Field(i), append(above, value.Type()))
			}
		}
	case reflect.Pointer:
		if isOwn(value.Type().Elem()) && value.Type().Elem().Kind() == reflect.Struct {
			value.Set(reflect.New(value.Type().Elem()))
			fill(value.Elem(), above)
		}
	case reflect.Slice:
		if isOwn(value.Type().Elem()) && value.Type().Elem().Kind() == reflect.Struct {
			value.Set(reflect.MakeSlice(value.Type(), 1, 1))
			fill(value.Index(0), above)
		}
	}
}

// member gives a field of a struct, or nothing.
func member(value reflect.Value, field reflect.StructField) reflect.Value {
	if !value.IsValid() || value.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return value.FieldByIndex(field.Index)
}

// item gives what a pointer or a list leads to, or nothing.
func item(value reflect.Value) reflect.Value {
	for value.IsValid() {
		switch {
		case value.Kind() == reflect.Pointer:
			value = value.Elem()
		case value.Kind() == reflect.Slice && value.Len() > 0:
			value = value.Index(0)
		default:
			return value
		}
	}
	return value
}

// defaultOf gives a value as JSON without quotes, "" for what is empty or has fields of its own.
func defaultOf(value reflect.Value) string {
	if !value.IsValid() || value.IsZero() {
		return ""
	}
	data, err := json.Marshal(value.Interface())
	if err != nil || len(data) == 0 || data[0] == '{' || data[0] == '[' || string(data) == "null" {
		return ""
	}
	return strings.Trim(string(data), `"`)
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

func fieldNamed(t reflect.Type, name string) reflect.StructField {
	for i := range t.NumField() {
		if jsonName(t.Field(i)) == name {
			return t.Field(i)
		}
	}
	panic(fmt.Sprintf("%s has no field %s", t, name))
}
