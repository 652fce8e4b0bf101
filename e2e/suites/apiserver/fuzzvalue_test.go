// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// texts that programs stumble over.
var strange = []string{
	"", " ", "app", "true", "null", "0", "-1", "1e400", "\x00", "\n", "é", "\u202e", "\ufeff", "\xff\xfe", "a/b", "../..", "%s%n", "${x}", "{{ . }}", "<script>", "' OR 1=1 --",
	"2026-01-01T00:00:00Z", "9999-99-99T99:99:99Z", "1h", "999999999h", "-5m", "P1D", "* * * * *", "@every 1ns", "60 25 32 13 8", "Local", "Mars/Olympus",
	"https://user:pass@host/x", "https://[::1", "oci://", "file:///etc/passwd", "git@host:x", ">=1.0.0 <2", "^", "~>", "v1.2.3+meta", "sha256:" + strings.Repeat("0", 64), "main@sha1:" + strings.Repeat("g", 40),
	"object.x", "object.items.all(x, x.all(y, y.all(z, z > 0)))", "[1,2,3].map(x, [1,2,3].map(y, x*y))", "'a'.matches('(a+)+$')", "1/0 == 1", "object.(", "a in (b", "!a", "a==b,c notin (d)", "/data/~0~1/-", "/", "[{\"op\":\"add\"}]", "{\"a\":",
}

func (f *fuzzer) text() string {
	switch f.IntN(8) {
	case 0:
		return strings.Repeat(one(f, "a", "é", "(", "a.", "/", "\\", "%41"), f.IntN(2000))
	case 1:
		return string(f.bytes(40))
	}
	return one(f, strange...)
}

// value is arbitrary JSON of at most such a depth.
func (f *fuzzer) value(depth int) any {
	kinds := 7
	if depth > 0 {
		kinds = 10
	}
	switch f.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return f.seldom(2)
	case 2:
		return one[any](f, 0, 1, -1, 1<<31, -1<<63, 1.5, 1e308, 9007199254740993, uint64(18446744073709551615))
	case 3, 4, 5, 6:
		return f.text()
	case 7:
		list := []any{}
		for range f.IntN(5) {
			list = append(list, f.value(depth-1))
		}
		return list
	case 8:
		return f.deep()
	}
	o := object{}
	for range f.IntN(5) {
		o[one(f, "name", "kind", "apiVersion", "spec", "metadata", "$patch", "", f.text())] = f.value(depth - 1)
	}
	return o
}

// deep is nested further than anything needs to be. Merge patches take time by the square of
// the depth, seconds for a few thousand levels, of built-in kinds as of convoy's: the library
// sets no limit below ten thousand.
func (f *fuzzer) deep() any {
	var value any = "x"
	for range f.IntN(one(f, 10, 200, 800)) {
		if f.seldom(2) {
			value = []any{value}
		} else {
			value = object{"a": value}
		}
	}
	return value
}

// mutated changes so many places of an object.
func (f *fuzzer) mutated(o object, times int) object {
	for range times {
		f.mutate(o, 0)
	}
	return o
}

// mutate changes one place at or below a value, and returns what stands there now.
func (f *fuzzer) mutate(value any, depth int) any {
	if depth > 0 && f.seldom(4) {
		return f.replacement(value)
	}
	switch v := value.(type) {
	case object:
		if len(v) == 0 || f.seldom(12) {
			v[one(f, "unknown", "Spec", "name ", f.text())] = f.value(3)
			return v
		}
		name := one(f, slices.Sorted(maps.Keys(v))...)
		if f.seldom(8) {
			delete(v, name)
			return v
		}
		v[name] = f.mutate(v[name], depth+1)
		return v
	case []any:
		if len(v) == 0 {
			return []any{f.value(2)}
		}
		if f.seldom(4) {
			return f.repeated(v)
		}
		i := f.IntN(len(v))
		v[i] = f.mutate(v[i], depth+1)
		return v
	}
	return f.replacement(value)
}

// replacement is of the same type mostly, or of any.
func (f *fuzzer) replacement(value any) any {
	switch value.(type) {
	case string:
		if !f.seldom(4) {
			return f.text()
		}
	case float64:
		if !f.seldom(4) {
			return one[any](f, 0, -1, 1<<31-1, 1<<31, 1<<40, -1<<63, 0.5, 1e300)
		}
	case bool:
		if !f.seldom(4) {
			return f.seldom(2)
		}
	}
	return f.value(3)
}

// repeated holds an element twice, or far too often.
func (f *fuzzer) repeated(list []any) []any {
	element := one(f, list...)
	for range one(f, 1, 1, 1, 300, 3000) {
		list = append(list, clone(element))
	}
	return list
}

func clone(value any) any {
	switch v := value.(type) {
	case object:
		o := make(object, len(v))
		for name, item := range v {
			o[name] = clone(item)
		}
		return o
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = clone(item)
		}
		return list
	}
	return value
}

// pointers are the JSON pointers of all that is in a value.
func pointers(value any, at string) []string {
	all := []string{at}
	switch v := value.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, pointers(v[name], at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name))...)
		}
	case []any:
		for i, item := range v {
			all = append(all, pointers(item, fmt.Sprintf("%s/%d", at, i))...)
		}
	}
	return all
}
