// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"reflect"
	"slices"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// The texts that stand for a secret value. They are the same for every value, so that they
// tell neither the value nor its length.
const (
	// Masked is the one where nothing is compared.
	Masked        = "(masked)"
	maskedChanged = "(masked, changed)"
)

// lastApplied is the annotation in which kubectl apply keeps a copy of the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// copies are the ends of the names of annotations in which tools keep a copy of the whole object,
// with the Secrets that it holds.
var copies = []string{"/last-applied-configuration", "/last-applied", "rio.cattle.io/applied", "kapp.k14s.io/original"}

// shownOfSecret are the fields of a Secret that tell no value. All others are masked, those
// too that a Secret has not, because somebody may have written a value in the wrong place.
var shownOfSecret = []string{"apiVersion", "kind", "metadata", "type", "immutable"}

// IsSecret tells whether the values of an object of this kind must not be shown.
func IsSecret(key corev1alpha1.ObjectKey) bool {
	return key.Group == "" && key.Kind == "Secret"
}

// MaskObject returns the object with every value of a Secret replaced, whether the object
// is one or holds one, as an item of a list does. The argument is not changed.
func MaskObject(object map[string]any) map[string]any {
	return maskCounterpart(object, nil)
}

// maskCounterpart is MaskObject for the right side of a comparison: values that are others
// than in before are marked so.
func maskCounterpart(object, before map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	return maskValue(place{}, object, before).(map[string]any)
}

// place is where in an object a value is, as far as it matters to secrecy.
type place struct {
	// kind of the map that the value is: a Secret, the metadata of one, a list of them.
	inside part
	// hidden is true for what must not be shown.
	hidden bool
}

type part int

const (
	// anywhere: a map here is what its own fields say.
	anywhere part = iota
	// aSecret, whatever its fields say.
	aSecret
	// itsMetadata: of a Secret.
	itsMetadata
	// secrets: the items of a SecretList, which need not say what they are.
	secrets
	// annotations: of any object.
	annotations
)

// at is the place with what the value, or its counterpart, says of itself.
func (p place) at(values ...any) place {
	if (p.inside == anywhere || p.inside == annotations) && slices.ContainsFunc(values, isSecretObject) {
		p.inside = aSecret
	}
	return p
}

// field is the place of a field of a map, or of its counterpart.
func (p place) field(name string, maps ...map[string]any) place {
	switch {
	case p.hidden:
		return p
	case p.inside == aSecret && name == "metadata":
		return place{inside: itsMetadata}
	case p.inside == aSecret:
		return place{hidden: !slices.Contains(shownOfSecret, name)}
	case p.inside == itsMetadata:
		// Tools keep copies of whole objects in annotations.
		return place{hidden: name == "annotations"}
	case p.inside == annotations:
		return place{hidden: slices.ContainsFunc(copies, func(end string) bool { return strings.HasSuffix(name, end) })}
	case name == "annotations":
		return place{inside: annotations}
	case name == "items" && slices.ContainsFunc(maps, isSecretList):
		return place{inside: secrets}
	}
	return place{}
}

// item is the place of an item of a list.
func (p place) item() place {
	if p.inside == secrets {
		return place{inside: aSecret}
	}
	return place{hidden: p.hidden}
}

// isSecretObject tells a whole Secret from what merely refers to one.
func isSecretObject(value any) bool {
	object, ok := value.(map[string]any)
	return ok && object["kind"] == "Secret" && inCoreGroup(object) &&
		(object["metadata"] != nil || object["data"] != nil || object["stringData"] != nil)
}

func isSecretList(object map[string]any) bool {
	return object["kind"] == "SecretList" && inCoreGroup(object)
}

func inCoreGroup(object map[string]any) bool {
	version, ok := object["apiVersion"].(string)
	return ok && !strings.Contains(version, "/")
}

// maskValue returns a value at a place as it may be shown; before is its counterpart.
func maskValue(p place, value, before any) any {
	p = p.at(value)
	if p.hidden {
		return hide(value, before)
	}
	switch value := value.(type) {
	case map[string]any:
		return maskMap(p, value, before)
	case []any:
		old, _ := before.([]any)
		items := make([]any, len(value))
		for i, item := range value {
			counterpart, _ := at(old, i)
			items[i] = maskValue(p.item(), item, counterpart)
		}
		return items
	}
	if p.inside == itsMetadata {
		return hideOne(value, before)
	}
	return value
}

func maskMap(p place, object map[string]any, before any) map[string]any {
	old, _ := before.(map[string]any)
	result := make(map[string]any, len(object))
	for name, value := range object {
		result[name] = maskValue(p.field(name, object), value, old[name])
	}
	return result
}

// hide is a value that must not be shown: of a map the keys stay.
func hide(value, before any) any {
	values, ok := value.(map[string]any)
	if !ok {
		return hideOne(value, before)
	}
	old, _ := before.(map[string]any)
	names := make(map[string]any, len(values))
	for name := range values {
		names[name] = hideOne(values[name], old[name])
	}
	return names
}

func hideOne(value, before any) string {
	if before != nil && !reflect.DeepEqual(before, value) {
		return maskedChanged
	}
	return Masked
}
