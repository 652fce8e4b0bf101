// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fields reads a map of an object, and knows what of it was not asked for: Rest lists that as
// not mapped, so that a field that this program has never heard of is not lost in silence. The
// zero value is a map without anything in it.
type Fields struct {
	path     string
	content  map[string]any
	asked    map[string]bool
	findings *Findings
}

// Read gives the Fields of a map, whose path is for messages. What cannot be read is added to
// findings.
func Read(path string, content map[string]any, findings *Findings) *Fields {
	return &Fields{path: path, content: content, asked: map[string]bool{}, findings: findings}
}

// Path gives the path of a field for messages.
func (f *Fields) Path(name string) string {
	if f.path == "" {
		return name
	}
	return f.path + "." + name
}

// Has tells whether a field is there and says something.
func (f *Fields) Has(name string) bool {
	switch value := f.content[name].(type) {
	case nil:
		return false
	case bool:
		return value
	case string:
		return value != ""
	case map[string]any:
		return len(value) > 0
	case []any:
		return len(value) > 0
	}
	return true
}

// value gives a field as type T; absent and of another type it is the zero value, the latter
// with a finding.
func value[T any](f *Fields, name string) (of T) {
	if f.content == nil {
		return of
	}
	f.asked[name] = true
	found := f.content[name]
	if found == nil {
		return of
	}
	of, ok := found.(T)
	if !ok {
		f.findings.Unmapped(f.Path(name), fmt.Sprintf("is %T, which it should not be", found))
	}
	return of
}

// Text gives a field that is a text.
func (f *Fields) Text(name string) string { return value[string](f, name) }

// Bool gives a field that is true or false; set tells whether it is there.
func (f *Fields) Bool(name string) (is, set bool) {
	is = value[bool](f, name)
	return is, f.content[name] != nil
}

// True tells whether a field is true.
func (f *Fields) True(name string) bool { return value[bool](f, name) }

// Int gives a field that is a whole number; nil when it is absent.
func (f *Fields) Int(name string) *int64 {
	if f.content == nil || f.content[name] == nil {
		return nil
	}
	f.asked[name] = true
	switch number := f.content[name].(type) {
	case int64:
		return &number
	case float64:
		whole := int64(number)
		return &whole
	case json.Number:
		if whole, err := number.Int64(); err == nil {
			return &whole
		}
	}
	f.findings.Unmapped(f.Path(name), "is no whole number")
	return nil
}

// Duration gives a field such as 10m; nil when it is absent.
func (f *Fields) Duration(name string) *metav1.Duration {
	text := f.Text(name)
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		f.findings.Unmapped(f.Path(name), "is no duration such as 10m")
		return nil
	}
	return &metav1.Duration{Duration: d}
}

// Map gives a field that is a map, whatever is in it.
func (f *Fields) Map(name string) map[string]any { return value[map[string]any](f, name) }

// Any gives a field, whatever it is.
func (f *Fields) Any(name string) any {
	if f.content == nil {
		return nil
	}
	f.asked[name] = true
	return f.content[name]
}

// In gives the fields of a map; none of one that is absent.
func (f *Fields) In(name string) *Fields {
	return Read(f.Path(name), f.Map(name), f.findings)
}

// Each gives the fields of the maps of a list.
func (f *Fields) Each(name string) []*Fields {
	var all []*Fields
	for i, item := range value[[]any](f, name) {
		content, _ := item.(map[string]any)
		all = append(all, Read(fmt.Sprintf("%s[%d]", f.Path(name), i), content, f.findings))
	}
	return all
}

// Texts gives a list of texts.
func (f *Fields) Texts(name string) []string {
	var all []string
	for _, item := range value[[]any](f, name) {
		text, ok := item.(string)
		if !ok {
			f.findings.Unmapped(f.Path(name), "is no list of texts")
			return nil
		}
		all = append(all, text)
	}
	return all
}

// TextMap gives a map of texts.
func (f *Fields) TextMap(name string) map[string]string {
	all := map[string]string{}
	for key, item := range f.Map(name) {
		text, ok := item.(string)
		if !ok {
			f.findings.Unmapped(f.Path(name), "is no map of texts")
			return nil
		}
		all[key] = text
	}
	return all
}

// Drop passes over fields that mean nothing to convoy, or what it does anyway.
func (f *Fields) Drop(names ...string) {
	for _, name := range names {
		if f.content != nil {
			f.asked[name] = true
		}
	}
}

// Unmapped lists a field as not mapped if it says something.
func (f *Fields) Unmapped(name, message string) {
	f.Drop(name)
	if f.Has(name) {
		f.findings.Unmapped(f.Path(name), message)
	}
}

// Note lists a field as something to know about if it says something.
func (f *Fields) Note(name, message string) {
	f.Drop(name)
	if f.Has(name) {
		f.findings.Note(f.Path(name), message)
	}
}

// Rest lists what was not asked for as not mapped.
func (f *Fields) Rest() {
	for _, name := range slices.Sorted(maps.Keys(f.content)) {
		if !f.asked[name] && f.Has(name) {
			f.findings.Unmapped(f.Path(name), "has no counterpart that this version of kubectl convoy knows")
		}
	}
}
