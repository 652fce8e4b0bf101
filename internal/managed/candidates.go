// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// root is the path of the whole object, as servers name it.
const root = "<nil>"

// candidates finds what stands beside the desired fields of a live object and may be what the
// server refuses them together with, by what it said: the member of a union that somebody chose in
// place of the desired one, the item of a list that has what a desired one is to have, or, where
// the server names a whole, whatever others wrote in it. Parts come before the whole that they are
// of. What the desired object has is never among it, and items of lists are only where the server
// speaks of them. Causes that name an immutable field are passed over.
func candidates(owners owners, live, desired *unstructured.Unstructured, causes []metav1.StatusCause) []fieldpath.Path {
	var all []fieldpath.Path
	for _, cause := range causes {
		if cause.Field == "" || Immutable(cause) {
			continue
		}
		s := search{owners: owners, cause: cause.Type}
		s.follow(desired.Object, live.Object, steps(cause.Field), nil)
		if len(s.found) == 0 {
			s.near = true
			s.follow(desired.Object, live.Object, steps(cause.Field), nil)
		}
		all = append(all, s.found...)
	}
	return all
}

// search follows a path that a server named through a desired and a live object. Places in
// lists are those in an object that only the server has seen, so that every item counts that
// both objects have.
type search struct {
	owners owners
	cause  metav1.CauseType
	// near looks beside and under a field that both objects have as well, for a server that
	// names the whole, or what is desired, instead of what it is not to be together with.
	near  bool
	found []fieldpath.Path
}

// follow tells whether it found something.
func (s *search) follow(want, have any, steps []string, at fieldpath.Path) bool {
	if len(steps) == 0 {
		return s.near && s.within(want, have, at)
	}
	switch want := want.(type) {
	case map[string]any:
		if have, ok := have.(map[string]any); ok {
			return s.followField(want, have, steps, at)
		}
	case []any:
		if have, ok := have.([]any); ok {
			return s.followItems(want, have, steps[1:], at)
		}
	}
	return false
}

func (s *search) followField(want, have map[string]any, steps []string, at fieldpath.Path) bool {
	name, last := steps[0], len(steps) == 1
	desired, held := want[name], have[name]
	path := append(at.Copy(), fieldpath.FieldNameElement(name))
	switch {
	case desired == nil && held == nil:
		return false
	case desired == nil:
		s.take(deepest(held, steps[1:], path))
		return true
	case held == nil:
		return last && s.beside(want, have, at)
	}
	if s.follow(desired, held, steps[1:], path) {
		return true
	}
	// Not at the top of a specification, where all kinds of things stand beside each other.
	return s.near && last && len(at) > 1 && s.beside(want, have, at)
}

// deepest is the longest part of a path that there is, up to the first list, and what is there.
func deepest(held any, steps []string, at fieldpath.Path) (any, fieldpath.Path) {
	for _, name := range steps {
		content, _ := held.(map[string]any)
		inner, ok := content[name]
		if !ok {
			break
		}
		held, at = inner, append(at, fieldpath.FieldNameElement(name))
	}
	return held, at
}

func (s *search) followItems(want, have []any, steps []string, at fieldpath.Path) bool {
	found := false
	s.items(want, have, at, func(desired, held any, path fieldpath.Path) {
		switch {
		case desired != nil:
			found = s.follow(desired, held, steps, path) || found
		case len(steps) == 1 && owns(s.owners.others, path) && s.clash(want, held, steps[0]):
			s.found = append(s.found, path)
			found = true
		}
	})
	return found
}

// items hands out the items of a live list that have keys, each with the desired one of the same
// keys, nil when there is none.
func (s *search) items(want, have []any, at fieldpath.Path, each func(desired, held any, path fieldpath.Path)) {
	keys := s.owners.keys(at)
	for _, held := range have {
		element, ok := itemOf(held, keys)
		if !ok {
			continue
		}
		var desired any
		if i := find(want, element); i >= 0 {
			desired = want[i]
		}
		each(desired, held, append(at.Copy(), element))
	}
}

// clash tells whether an item of a list that is not desired cannot be beside those that are: it
// has the same in a field, or one of them has nothing in a field in which all need something as
// soon as there are several.
func (s *search) clash(want []any, held any, field string) bool {
	of := func(item any) any {
		content, _ := item.(map[string]any)
		return content[field]
	}
	switch s.cause {
	case metav1.CauseTypeFieldValueDuplicate:
		return of(held) != nil && slices.ContainsFunc(want, func(item any) bool { return same(of(item), of(held)) })
	case metav1.CauseTypeFieldValueRequired:
		return of(held) == nil || slices.ContainsFunc(want, func(item any) bool { return of(item) == nil })
	}
	return false
}

// beside finds the fields of a live map that somebody else wrote and that are not desired.
func (s *search) beside(want, have any, at fieldpath.Path) bool {
	before := len(s.found)
	s.others(want, have, at, func(desired, held any, path fieldpath.Path) {
		if desired == nil {
			s.take(held, path)
		}
	})
	return len(s.found) > before
}

// within is beside, and goes on under the fields and in the items that both objects have.
func (s *search) within(want, have any, at fieldpath.Path) bool {
	before := len(s.found)
	s.beside(want, have, at)
	deeper := func(desired, held any, path fieldpath.Path) {
		if desired != nil {
			s.within(desired, held, path)
		}
	}
	s.others(want, have, at, deeper)
	if list, ok := want.([]any); ok {
		held, _ := have.([]any)
		s.items(list, held, at, deeper)
	}
	return len(s.found) > before
}

// others hands out the fields of a live map, in their order, in which somebody else wrote something,
// each with what is desired there, nil for nothing.
func (s *search) others(want, have any, at fieldpath.Path, each func(desired, held any, path fieldpath.Path)) {
	desired, ok := want.(map[string]any)
	held, _ := have.(map[string]any)
	if !ok {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		path := append(at.Copy(), fieldpath.FieldNameElement(name))
		if owns(s.owners.others, path) && !isKey(at, name) && (len(at) > 0 || !servers[name]) {
			each(desired[name], held[name], path)
		}
	}
}

// servers are the fields of an object in which whatever others wrote is in nobody's way.
var servers = map[string]bool{"apiVersion": true, "kind": true, "metadata": true, "status": true}

// isKey tells whether a field is among those that name the item of a list that a path leads to.
func isKey(item fieldpath.Path, field string) bool {
	if len(item) == 0 || item[len(item)-1].Key == nil {
		return false
	}
	return slices.ContainsFunc(*item[len(item)-1].Key, func(key value.Field) bool { return key.Name == field })
}

// take finds what is at a path, and before that the parts of it that others wrote: one of them may
// be all that is in the way.
func (s *search) take(held any, at fieldpath.Path) {
	s.parts(held, at)
	s.found = append(s.found, at)
}

func (s *search) parts(held any, at fieldpath.Path) {
	switch held := held.(type) {
	case map[string]any:
		s.others(map[string]any{}, held, at, func(_, inner any, path fieldpath.Path) {
			s.parts(inner, path)
			if len(held) > 1 { // one alone is as good as the whole
				s.found = append(s.found, path)
			}
		})
	case []any:
		s.items(nil, held, at, func(_, _ any, path fieldpath.Path) {
			if len(held) > 1 && owns(s.owners.others, path) {
				s.found = append(s.found, path)
			}
		})
	}
}

// steps splits a path as the API writes it, a.b[0].c[key], into its names, places and keys; a
// dot inside brackets ends none.
func steps(path string) []string {
	if path == root {
		return nil
	}
	inside := false
	return strings.FieldsFunc(path, func(r rune) bool {
		switch {
		case r == '[':
			inside = true
		case r == ']':
			inside = false
		case r != '.' || inside:
			return false
		}
		return true
	})
}
