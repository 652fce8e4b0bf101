// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// value finds what the values of a schema say against a value.
func (l *look) value(value any, s *props, path *field.Path) {
	if s == nil || !l.spend(1+sizeOfValue(value)+len(s.Enum)+len(s.Required)) || l.full() {
		return
	}
	if value == nil {
		if s.Type != "" && !s.Nullable {
			l.fault(path, "must be of type %s, and is null", s.Type)
		}
		return
	}
	if wanted := typeOf(s); !isOf(value, wanted) {
		l.fault(path, "must be of type %s", wanted)
		return
	}
	if len(s.Enum) > 0 && !l.oneOf(value, s.Enum) {
		l.fault(path, "must be one of %s", listed(s.Enum))
	}
	switch value := value.(type) {
	case string:
		l.text(value, s, path)
	case map[string]any:
		l.fields(value, s, path)
	case []any:
		l.items(value, s, path)
	default:
		if number, ok := numberOf(value); ok {
			l.number(number, s, path)
		}
	}
	l.combined(value, s, path)
}

// sizeOfValue is what it counts to look at a value but for what is in it, which is done for every
// schema that says something of it.
func sizeOfValue(value any) int {
	switch value := value.(type) {
	case string:
		return len(value) / stepsAtOnce
	case map[string]any:
		return len(value)
	case []any:
		return len(value)
	}
	return 0
}

// typeOf is the type that values must have, "" for any.
func typeOf(s *props) string {
	if s.XIntOrString {
		return "integer or string"
	}
	return s.Type
}

func isOf(value any, wanted string) bool {
	number, numeric := numberOf(value)
	whole := numeric && number == math.Trunc(number)
	_, text := value.(string)
	switch wanted {
	case "integer":
		return whole
	case "number":
		return numeric
	case "string":
		return text
	case "integer or string":
		return whole || text
	case "boolean":
		_, ok := value.(bool)
		return ok
	case "object":
		_, ok := value.(map[string]any)
		return ok
	case "array":
		_, ok := value.([]any)
		return ok
	}
	return true
}

func numberOf(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case int:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

// oneOf tells whether a value is one of an enumeration.
func (l *look) oneOf(value any, enumeration []apiextensionsv1.JSON) bool {
	wanted := encoded(value)
	if !l.spend(len(wanted)) {
		return true
	}
	return slices.ContainsFunc(enumeration, func(one apiextensionsv1.JSON) bool {
		return !l.spend(len(one.Raw)) || encoded(decoded(&one)) == wanted
	})
}

// encoded is equal for equal values, whatever the type of their numbers.
func encoded(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}

// maxListed is how many bytes of an enumeration are told.
const maxListed = 500

func listed(values []apiextensionsv1.JSON) string {
	var all strings.Builder
	for i := range values {
		if i > 0 {
			all.WriteString(", ")
		}
		if left := maxListed - all.Len(); len(values[i].Raw) > left {
			all.WriteString(strings.ToValidUTF8(string(values[i].Raw[:max(left, 0)]), "") + "…")
			break
		}
		all.Write(values[i].Raw)
	}
	return all.String()
}

func (l *look) text(value string, s *props, path *field.Path) {
	length := int64(utf8.RuneCountInString(value))
	if s.MinLength != nil && length < *s.MinLength {
		l.fault(path, "must be at least %d characters long", *s.MinLength)
	}
	if s.MaxLength != nil && length > *s.MaxLength {
		l.fault(path, "must be at most %d characters long", *s.MaxLength)
	}
	if s.Pattern != "" {
		if found := l.patterns.of(s.Pattern, l.spend); found.expression != nil && l.spend(len(value)*found.size/stepsAtOnce) && !found.expression.MatchString(value) {
			l.fault(path, "must match %q", s.Pattern)
		}
	}
	if formatted(s) && !strfmt.Default.Validates(s.Format, value) {
		l.fault(path, "must be of format %s", s.Format)
	}
}

// formatted tells whether texts must have a format. One that is not known here means nothing
// to the server either; those of names mean nothing to some of its versions.
func formatted(s *props) bool {
	return s.Format != "" && (s.Type == "string" || s.Type == "" && !s.XIntOrString) &&
		!strings.HasPrefix(s.Format, "k8s-") && strfmt.Default.ContainsName(s.Format)
}

func (l *look) number(value float64, s *props, path *field.Path) {
	switch {
	case s.Minimum != nil && s.ExclusiveMinimum && value <= *s.Minimum:
		l.fault(path, "must be more than %v", *s.Minimum)
	case s.Minimum != nil && value < *s.Minimum:
		l.fault(path, "must be at least %v", *s.Minimum)
	case s.Maximum != nil && s.ExclusiveMaximum && value >= *s.Maximum:
		l.fault(path, "must be less than %v", *s.Maximum)
	case s.Maximum != nil && value > *s.Maximum:
		l.fault(path, "must be at most %v", *s.Maximum)
	case s.MultipleOf != nil && !isMultiple(value, *s.MultipleOf):
		l.fault(path, "must be a multiple of %v", *s.MultipleOf)
	case s.Format == "int32" && s.Type == "integer" && (value < math.MinInt32 || value > math.MaxInt32):
		l.fault(path, "must fit into 32 bits")
	}
}

// isMultiple forgives what floating-point numbers lose.
func isMultiple(value, of float64) bool {
	if of == 0 {
		return true
	}
	times := value / of
	return math.Abs(times-math.Round(times)) <= 1e-9*math.Max(1, math.Abs(times))
}

func (l *look) fields(value map[string]any, s *props, path *field.Path) {
	if n := int64(len(value)); s.MinProperties != nil && n < *s.MinProperties {
		l.fault(path, "must have at least %d fields", *s.MinProperties)
	} else if s.MaxProperties != nil && n > *s.MaxProperties {
		l.fault(path, "must have at most %d fields", *s.MaxProperties)
	}
	for _, name := range s.Required {
		if _, ok := value[name]; !ok && !l.full() {
			l.faults = append(l.faults, field.Required(path.Child(name), ""))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if of := inner(s, name); of != nil {
			l.value(value[name], of, path.Child(name))
		}
	}
}

func (l *look) items(value []any, s *props, path *field.Path) {
	if n := int64(len(value)); s.MinItems != nil && n < *s.MinItems {
		l.fault(path, "must have at least %d items", *s.MinItems)
	} else if s.MaxItems != nil && n > *s.MaxItems {
		l.fault(path, "must have at most %d items", *s.MaxItems)
	}
	if s.Items != nil {
		for i, item := range value {
			l.value(item, s.Items.Schema, path.Index(i))
		}
	}
	l.unique(value, s, path)
}

// unique finds items that are there twice, of lists that are sets or maps.
func (l *look) unique(value []any, s *props, path *field.Path) {
	if s.XListType == nil || *s.XListType != "set" && *s.XListType != "map" {
		return
	}
	seen := map[string]bool{}
	for i, item := range value {
		key := item
		if *s.XListType == "map" {
			fields, ok := item.(map[string]any)
			if !ok {
				continue
			}
			var parts []any
			for _, name := range s.XListMapKeys {
				parts = append(parts, fields[name])
			}
			key = parts
		}
		text := encoded(key)
		if !l.spend(len(text)) || l.full() {
			return
		}
		if seen[text] {
			l.faults = append(l.faults, &field.Error{Type: field.ErrorTypeDuplicate, Field: path.Index(i).String(), BadValue: field.OmitValueType{}})
		} else {
			seen[text] = true
		}
	}
}

// combined holds a value against the schemas that a schema is made of.
func (l *look) combined(value any, s *props, path *field.Path) {
	for i := range s.AllOf {
		l.value(value, &s.AllOf[i], path)
	}
	if len(s.AnyOf) > 0 && l.holds(value, s.AnyOf) == 0 {
		l.fault(path, "must be valid by one of the schemas of anyOf")
	}
	if n := 1; len(s.OneOf) > 0 {
		if n = l.holds(value, s.OneOf); n != 1 {
			l.fault(path, "must be valid by exactly one of the schemas of oneOf, and is by %d", n)
		}
	}
	if s.Not != nil && l.holds(value, []props{*s.Not}) == 1 {
		l.fault(path, "must not be valid by the schema of not")
	}
}

// holds counts the schemas by which a value is valid.
func (l *look) holds(value any, schemas []props) int {
	n := 0
	for i := range schemas {
		within := &look{patterns: l.patterns, left: l.left}
		if within.value(value, &schemas[i], nil); len(within.faults) == 0 {
			n++
		}
	}
	return n
}
