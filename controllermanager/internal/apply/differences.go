// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// differences gives the paths below path at which live has not what desired has. What
// only live has is no difference: the server fills objects in.
func differences(path string, desired, live map[string]any) []string {
	var (
		at   *field.Path
		want any = desired
		have any = live
	)
	for _, step := range steps(path) {
		want, at = child(want, step, at)
		have, _ = child(have, step, nil)
	}
	if at == nil || want == nil {
		return nil
	}
	var found []string
	compare(at, want, have, &found)
	return found
}

// steps splits a path as the API writes it, a.b[0].c[key], into its names, indexes and keys.
func steps(path string) []string {
	return strings.FieldsFunc(bracketed(path), func(r rune) bool { return r == 0 })
}

// bracketed marks the ends of steps with zero bytes; a dot inside brackets ends none.
func bracketed(path string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			inside = true
			return 0
		case r == ']':
			inside = false
			return 0
		case r == '.' && !inside:
			return 0
		}
		return r
	}, path)
}

func child(of any, step string, at *field.Path) (any, *field.Path) {
	if list, ok := of.([]any); ok {
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(list) {
			return list[i], at.Index(i)
		}
		return nil, at.Key(step)
	}
	content, _ := of.(map[string]any)
	return content[step], name(at, step)
}

// name appends a name to a path, as a key where it would be taken for several.
func name(at *field.Path, step string) *field.Path {
	switch {
	case at == nil:
		return field.NewPath(step)
	case strings.ContainsAny(step, "./"):
		return at.Key(step)
	}
	return at.Child(step)
}

func compare(at *field.Path, want, have any, found *[]string) {
	if want == nil || have == nil && empty(want) {
		return
	}
	switch want := want.(type) {
	case map[string]any:
		content, ok := have.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			compare(name(at, key), want[key], content[key], found)
		}
		return
	case []any:
		list, ok := have.([]any)
		if !ok || len(list) != len(want) {
			break
		}
		for i := range want {
			compare(at.Index(i), want[i], list[i], found)
		}
		return
	}
	if !same(want, have) {
		*found = append(*found, at.String())
	}
}

// empty tells values that the server may leave out.
func empty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// same tells equal values, and quantities that are equal in another notation.
func same(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	if b == nil {
		return false
	}
	x, err := resource.ParseQuantity(fmt.Sprint(a))
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && x.Cmp(y) == 0
}
