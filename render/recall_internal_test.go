// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// populate gives every field a value; slices get one element.
func populate(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		populate(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			populate(t, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		populate(t, v.Index(0))
	case reflect.Interface:
	default:
		change(t, v)
	}
}

// change gives a field another value than it has.
func change(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8:
		v.SetUint(v.Uint() + 1)
	default:
		t.Fatalf("fields of the kind %s cannot be compared", v.Kind())
	}
}

// leaves calls visit with a change of each field, one at a time, also with each pointer and
// slice emptied.
func leaves(t *testing.T, path string, v reflect.Value, visit func(path string)) {
	before := reflect.New(v.Type()).Elem()
	before.Set(v)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(t, path+"."+v.Type().Field(i).Name, v.Field(i), visit)
		}
		return
	case reflect.Pointer:
		leaves(t, path, v.Elem(), visit)
		v.SetZero()
	case reflect.Slice:
		leaves(t, path+"[0]", v.Index(0), visit)
		v.SetZero()
	case reflect.Interface:
		return
	default:
		change(t, v)
	}
	visit(path)
	v.Set(before)
}

func TestEveryFieldOfASpecCounts(t *testing.T) {
	g := NewWithT(t)
	spec := &corev1alpha1.ReleaseSpec{}
	populate(t, reflect.ValueOf(spec).Elem())
	same := func(other *corev1alpha1.ReleaseSpec) bool {
		return equal(reflect.ValueOf(spec), reflect.ValueOf(other)) && equal(reflect.ValueOf(other), reflect.ValueOf(spec))
	}
	g.Expect(same(spec.DeepCopy())).To(BeTrue())
	seen := 0
	other := spec.DeepCopy()
	leaves(t, "spec", reflect.ValueOf(other).Elem(), func(path string) {
		seen++
		g.Expect(same(other)).To(BeFalse(), path)
	})
	g.Expect(seen).To(BeNumerically(">", 100))
	g.Expect(same(spec.DeepCopy())).To(BeTrue())
}

func TestEqualListsAreHeldOnce(t *testing.T) {
	g := NewWithT(t)
	var l lists
	first := l.share([]string{"v1", "apps/v1"})
	g.Expect(unsafe.SliceData(l.share([]string{"v1", "apps/v1"}))).To(BeIdenticalTo(unsafe.SliceData(first)))
	g.Expect(l.share([]string{"v1"})).To(Equal([]string{"v1"}))
	g.Expect(l.share(nil)).To(BeNil())
	for n := range 2 * mostLists {
		l.share([]string{fmt.Sprint(n)})
	}
	g.Expect(l.known).To(HaveLen(mostLists))
}
