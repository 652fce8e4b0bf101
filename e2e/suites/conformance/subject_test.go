// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"
)

// role of a subject in the comparison.
type role string

const (
	builtin role = "built-in"
	custom  role = "custom"
	ours    role = "convoy"
)

// subject is a kind to which the suite does things, and how they are done to it.
type subject struct {
	role                   role
	group, version         string
	kind, plural, singular string
	shortName              string
	// global kinds do not live in a namespace; they are compared among themselves.
	global bool

	// spec of a valid object of that name.
	spec func(name string) map[string]any
	// field of the spec can be changed at any time. No value is the default; each can
	// follow each.
	field  path
	values [3]any
	// managed is how managed fields call the part of the field in which the values differ;
	// the field itself when empty.
	managed string
	// invalid is refused as a value of the field, wrongType cannot be decoded.
	invalid, wrongType any
	// required is a field without which the spec is refused.
	required path
	// enum is a field with few values, one of which is the default; nil for a kind without.
	enum         path
	defaultValue any
	// fixed is a field that cannot be changed and fixedPatch a merge patch that tries; nil
	// for a kind without.
	fixed      path
	fixedPatch any
	// items is a list of the spec whose items are known by their names, and build makes one;
	// nil for a kind without. The value ends up in the item's field itemValue.
	items     path
	build     func(name, value string) map[string]any
	itemValue string

	// spelled is a field whose value, as it is given, is stored in another spelling; nil for
	// a kind without.
	spelled       path
	given, stored any
	// flag is a field that is false unless it is given, and then left out; nil for a kind
	// without.
	flag path
	// optional is a list that may be empty; nil for a kind without.
	optional path
	// part is the subresource that writes the field and nothing else; empty for a field that
	// is written with the rest.
	part string
	// free is a field that takes any JSON object; nil for a kind without.
	free path
}

func (s *subject) groupVersion() string { return s.group + "/" + s.version }
func (s *subject) resource() string     { return s.plural + "." + s.group }

// path leads to a field of an object.
type path []string

// at splits the path of a field, for example spec.replicas.
func at(dotted string) path { return strings.Split(dotted, ".") }

func (p path) String() string  { return strings.Join(p, ".") }
func (p path) pointer() string { return "/" + strings.Join(p, "/") }

// holds tells whether another field, written with dots and brackets, is this one or below.
func (p path) holds(dotted string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(dotted, "."), p.String())
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

type object = map[string]any

// set sets a field and makes what lies above it. A nil value removes it.
func set(o object, p path, value any) object {
	above := o
	for _, name := range p[:len(p)-1] {
		next, ok := above[name].(object)
		if !ok {
			next = object{}
			above[name] = next
		}
		above = next
	}
	if value == nil {
		delete(above, p[len(p)-1])
	} else {
		above[p[len(p)-1]] = value
	}
	return o
}

// get reads a field, nil when it is absent.
func get(o object, p path) any {
	var value any = o
	for _, name := range p {
		above, ok := value.(object)
		if !ok {
			return nil
		}
		value = above[name]
	}
	return value
}

// containing builds an object with only that field, as a merge patch needs it.
func containing(p path, value any) object {
	if len(p) == 1 {
		return object{p[0]: value}
	}
	return object{p[0]: containing(p[1:], value)}
}

var (
	metadata           = at("metadata")
	observedGeneration = at("status.observedGeneration")
	conditions         = at("status.conditions")
)

// subjects are all kinds of the suite. The first built-in and the first custom kind of a
// scope are what convoy's kinds of that scope are compared with.
var subjects = append(references(), convoyKinds()...)

// find a kind by its name.
func find(kind string) *subject {
	for _, s := range subjects {
		if s.kind == kind {
			return s
		}
	}
	panic("no kind " + kind)
}
