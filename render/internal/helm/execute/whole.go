// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"reflect"

	"helm.sh/helm/v3/pkg/chartutil"

	"kumodo.io/convoy/render/internal/limit"
)

// perNode is about what a value takes while it is printed or copied, besides its text.
const perNode = 64

// whole tells whether all that is in some values can be read: what is shared counts as
// often as it is met, and what contains itself has no end.
func (r *run) whole(values ...any) error {
	most := min(r.limits.Value, r.bytes)
	w := walk{left: most}
	for _, v := range values {
		w.value(v, 0)
	}
	switch {
	case w.deep:
		return limit.New("a value is nested more than %d deep, or lies in itself", maxNesting)
	case w.left < 0:
		return r.may(most + 1)
	}
	return nil
}

// sizeOf gives about what all that is in a value takes; whole must have let it pass.
func (r *run) sizeOf(v any) int64 {
	w := walk{left: r.limits.Value}
	w.value(v, 0)
	return r.limits.Value - w.left
}

// walk reads values until nothing is left.
type walk struct {
	left int64
	deep bool
}

func (w *walk) value(v any, depth int) {
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
		w.left -= perNode / 4
	case string:
		w.left -= int64(len(v))
	case map[string]any:
		w.entries(v, depth)
	case chartutil.Values:
		w.entries(v, depth)
	case []any:
		for _, item := range v {
			if !w.goOn(depth) {
				return
			}
			w.value(item, depth+1)
		}
	default:
		w.reflected(reflect.ValueOf(v), depth)
	}
}

func (w *walk) entries(m map[string]any, depth int) {
	for key, item := range m {
		if !w.goOn(depth) {
			return
		}
		w.left -= int64(len(key))
		w.value(item, depth+1)
	}
}

// goOn takes a node.
func (w *walk) goOn(depth int) bool {
	w.left -= perNode
	w.deep = w.deep || depth > maxNesting
	return w.left >= 0 && !w.deep
}

// reflected is value for all other types.
func (w *walk) reflected(v reflect.Value, depth int) {
	if !w.goOn(depth) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		w.left -= int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.reflected(v.Elem(), depth+1)
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			w.left -= 4 * int64(v.Len()) // printed as numbers
			return
		}
		for i := 0; i < v.Len() && w.left >= 0 && !w.deep; i++ {
			w.reflected(v.Index(i), depth+1)
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next() && w.left >= 0 && !w.deep; {
			w.reflected(entries.Key(), depth+1)
			w.reflected(entries.Value(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.reflected(v.Field(i), depth+1)
		}
	}
}
