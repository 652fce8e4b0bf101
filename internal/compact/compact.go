// SPDX-License-Identifier: Apache-2.0

// Package compact has objects that are kept take less memory.
package compact

import (
	"reflect"
	"sync"
)

const (
	// places is how many texts are known at once; the newest of those that share a place is.
	places = 8192
	// longest is how many bytes a text has at most that is known: longer ones are seldom equal.
	longest = 512
)

// Table knows the texts that were seen last. It is for use by many goroutines.
type Table struct {
	mu    sync.Mutex
	known [places]string
}

// NewTable makes a Table that knows no text.
func NewTable() *Table { return &Table{} }

// Compact replaces texts of an object by equal ones that were seen before, and lists by those
// without room for more: in its fields, in what these point to and in lists, not in maps. The
// object, a pointer, is nobody else's yet. Its value stays the same.
func (t *Table) Compact(object any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.compact(reflect.ValueOf(object))
}

// compact is for who holds mu.
func (t *Table) compact(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			t.compact(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				t.compact(field)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		if v.Cap() > v.Len() && v.CanSet() { // decoders double lists
			list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(list, v)
			v.Set(list)
		}
		for i := range v.Len() {
			t.compact(v.Index(i))
		}
	case reflect.String:
		if text := v.String(); text != "" && len(text) <= longest {
			v.SetString(t.one(text))
		}
	}
}

// hash is FNV-1a: the same in each process, so that which texts share a place is, too.
func hash(text string) uint32 {
	h := uint32(2166136261)
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * 16777619
	}
	return h
}

func (t *Table) one(text string) string {
	place := &t.known[hash(text)%places]
	if *place != text {
		*place = text
	}
	return *place
}
