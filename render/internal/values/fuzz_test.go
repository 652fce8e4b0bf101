// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"reflect"
	"testing"

	"kumodo.io/convoy/render/internal/values"
)

// Whatever values are written as, they are values or an error; merging them over themselves
// changes nothing.
func FuzzParse(f *testing.F) {
	f.Add([]byte("a: {b: [1, 2.5, null, yes], 1: 0x10}\nc: 18446744073709551615\n"), []byte(`{"a": 9007199254740993}`))
	f.Add([]byte("a: &a {b: 1}\nc: {<<: *a}\n"), []byte("null"))
	f.Add([]byte("1000000: -1e6\n? {a: b}\n: c"), []byte(`[1]`))
	f.Fuzz(func(t *testing.T, yaml, json []byte) {
		under, err := values.ParseYAML(yaml)
		if err != nil {
			return
		}
		if !reflect.DeepEqual(values.Merge(under, under), under) {
			t.Fatalf("%v", under)
		}
		over, err := values.ParseJSON(json)
		if err != nil {
			return
		}
		once := values.Merge(under, over)
		if !reflect.DeepEqual(values.Merge(once, over), once) {
			t.Fatalf("%v over %v", over, under)
		}
	})
}
