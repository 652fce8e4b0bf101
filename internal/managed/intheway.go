// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// InTheWay finds what stands beside the desired fields of a live object so that the server
// refuses the two together, by what it said: the member of a union that somebody chose in place
// of the desired one, or the item of a list that has what a desired one is to have. The server
// must have said that it would accept the desired object as a new one. What the desired object
// has, and what is elsewhere, is never among it. Causes that name an immutable field are passed
// over.
func InTheWay(live, desired *unstructured.Unstructured, causes []metav1.StatusCause) (*fieldpath.Set, error) {
	owners, err := ownersOf(live)
	if err != nil {
		return nil, err
	}
	all := fieldpath.NewSet()
	for _, cause := range causes {
		if cause.Field == "" || Immutable(cause) {
			continue
		}
		s := search{owners: owners, found: fieldpath.NewSet(), cause: cause.Type}
		s.follow(desired.Object, live.Object, steps(cause.Field), nil)
		if s.found.Empty() {
			s.near = true
			s.follow(desired.Object, live.Object, steps(cause.Field), nil)
		}
		all = all.Union(s.found)
	}
	return all, nil
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
	found *fieldpath.Set
}

// follow tells whether it found something.
func (s *search) follow(want, have any, steps []string, at fieldpath.Path) bool {
	if len(steps) == 0 {
		return s.near && s.beside(want, have, at)
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
		s.found.Insert(deepest(held, steps[1:], path))
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

// deepest is the longest part of a path that there is, up to the first list.
func deepest(within any, steps []string, at fieldpath.Path) fieldpath.Path {
	for _, name := range steps {
		content, _ := within.(map[string]any)
		inner, ok := content[name]
		if !ok {
			break
		}
		within, at = inner, append(at, fieldpath.FieldNameElement(name))
	}
	return at
}

func (s *search) followItems(want, have []any, steps []string, at fieldpath.Path) bool {
	keys := s.owners.keys(at)
	found := false
	for _, held := range have {
		element, ok := itemOf(held, keys)
		if !ok {
			continue
		}
		path := append(at.Copy(), element)
		i := find(want, element)
		switch {
		case i >= 0:
			found = s.follow(want[i], held, steps, path) || found
		case len(steps) == 1 && owns(s.owners.others, path) && s.clash(want, held, steps[0]):
			s.found.Insert(path)
			found = true
		}
	}
	return found
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
	desired, _ := want.(map[string]any)
	held, _ := have.(map[string]any)
	found := false
	for _, name := range slices.Sorted(maps.Keys(held)) {
		path := append(at.Copy(), fieldpath.FieldNameElement(name))
		if desired != nil && desired[name] == nil && owns(s.owners.others, path) {
			s.found.Insert(path)
			found = true
		}
	}
	return found
}

// steps splits a path as the API writes it, a.b[0].c[key], into its names, places and keys; a
// dot inside brackets ends none.
func steps(path string) []string {
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
