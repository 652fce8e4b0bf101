// SPDX-License-Identifier: Apache-2.0

// Package definition holds custom resources against CustomResourceDefinitions that their
// cluster does not have yet: those of the same render. It finds what the API server would
// refuse by the structure of the schema: types, bounds, required and undeclared fields, with
// the defaults filled in before. It refuses nothing that the API server would take.
//
// Rules (x-kubernetes-validations) are not evaluated: they are compiled and bounded by the
// library of API servers, which is not linked here.
package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Kind is that of definitions.
var Kind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// Errors for objects that are not held against their schema, or not to the end.
var (
	ErrTooMuch = errors.New("that takes too long")
	ErrTooDeep = fmt.Errorf("it is nested more than %d levels deep", maxDepth)
)

const (
	// effort is how much is looked at for one Set: about that many values, and a second or two.
	effort = 10_000_000
	// maxDepth is how deep a definition may be nested as JSON, in which a field takes two levels. Those
	// of operators that embed pods have some 50.
	maxDepth = 256
	// bytesAtOnce is how many bytes of a definition count as one value that is looked at, for each
	// level: parts of it are decoded as often as they are deep.
	bytesAtOnce = 64
	// maxFaults is how many faults are told of one object.
	maxFaults = 10
)

// Set are the definitions among the objects of a render. It is safe for concurrent use.
type Set struct {
	kinds map[schema.GroupKind]*definition
	left  atomic.Int64 // of the effort
}

// definition is read when it is first needed.
type definition struct {
	read     func() (map[string]*version, error)
	patterns patterns
}

// version is a served version of a definition.
type version struct {
	schema *apiextensionsv1.JSONSchemaProps
	// status: it is written through a subresource, and not with the object.
	status bool
	// rules: the schema has some.
	rules bool
}

// New finds the definitions among objects, which are not changed and must not be.
func New(objects ...*unstructured.Unstructured) *Set {
	s := &Set{kinds: map[schema.GroupKind]*definition{}}
	s.left.Store(effort)
	for _, object := range objects {
		if object.GroupVersionKind().GroupKind() != Kind {
			continue
		}
		group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
		d := &definition{}
		d.read = sync.OnceValues(func() (map[string]*version, error) { return versionsOf(object, s.spend) })
		s.kinds[schema.GroupKind{Group: group, Kind: kind}] = d
	}
	return s
}

// spend counts what was looked at; false when no more is to be.
func (s *Set) spend(n int) bool { return s.left.Add(-int64(n)) > 0 }

// Defines tells whether there is a definition of a kind.
func (s *Set) Defines(kind schema.GroupKind) bool { return s.kinds[kind] != nil }

// Check tells what the API server would have against creating an object once its definition
// is there. rules tells that the schema has some, which are not evaluated. Errors: ErrTooMuch,
// ErrTooDeep, and that of an API server for an invalid object, which quotes nothing of its spec. An object of a kind
// or version without a schema has none: where no definition serves it, it is not rendered.
func (s *Set) Check(object *unstructured.Unstructured) (rules bool, err error) {
	gvk := object.GroupVersionKind()
	d := s.kinds[gvk.GroupKind()]
	if d == nil {
		return false, nil
	}
	v, err := d.version(gvk.Version)
	if errors.Is(err, ErrTooMuch) || errors.Is(err, ErrTooDeep) {
		return false, err
	}
	if err != nil || v == nil || v.schema == nil {
		return false, nil // the API server has more to say of the definition itself
	}
	faults := apivalidation.ValidateObjectMetaAccessor(object, object.GetNamespace() != "", apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	found, err := s.hold(d, v, object)
	if faults = append(faults, found...); len(faults) > 0 {
		return v.rules, apierrors.NewInvalid(gvk.GroupKind(), object.GetName(), faults[:min(len(faults), maxFaults)])
	}
	return v.rules, err
}

// hold holds an object, as the server would have it before it looks, against the schema.
func (s *Set) hold(d *definition, v *version, object *unstructured.Unstructured) (field.ErrorList, error) {
	completed := object.DeepCopy().Object
	l := &look{patterns: &d.patterns, left: &s.left}
	l.declared(completed, v.schema, nil, place{object: true})
	if v.status {
		delete(completed, "status")
	}
	l.complete(completed, v.schema)
	l.value(completed, v.schema, nil)
	if s.left.Load() <= 0 {
		return nil, ErrTooMuch // faults found with half a look may be none
	}
	return l.faults, nil
}

// version finds a served version; nil when there is none of the name.
func (d *definition) version(name string) (*version, error) {
	versions, err := d.read()
	return versions[name], err
}

// versionsOf reads a definition. Errors are ErrTooDeep, ErrTooMuch, and why it is none.
func versionsOf(object *unstructured.Unstructured, spend func(int) bool) (map[string]*version, error) {
	depth := depthOf(object.Object["spec"], maxDepth)
	if depth > maxDepth {
		return nil, ErrTooDeep
	}
	data, err := json.Marshal(object.Object["spec"])
	if err != nil {
		return nil, err
	}
	if !spend(len(data) / bytesAtOnce * depth) {
		return nil, ErrTooMuch
	}
	spec := apiextensionsv1.CustomResourceDefinitionSpec{}
	if err := json.Unmarshal(data, &spec); err != nil {
		return nil, err
	}
	versions := map[string]*version{}
	for _, one := range spec.Versions {
		if !one.Served {
			continue
		}
		v := &version{status: one.Subresources != nil && one.Subresources.Status != nil}
		if one.Schema != nil {
			v.schema = one.Schema.OpenAPIV3Schema
			v.rules = hasRules(v.schema)
		}
		versions[one.Name] = v
	}
	return versions, nil
}

// depthOf is how deep maps and lists are within each other, one more than most when it is more.
func depthOf(value any, most int) int {
	var inner iter.Seq[any]
	switch value := value.(type) {
	case map[string]any:
		inner = maps.Values(value)
	case []any:
		inner = slices.Values(value)
	default:
		return 0
	}
	deepest := 0
	for value := range inner {
		if deepest >= most {
			break
		}
		deepest = max(deepest, depthOf(value, most-1))
	}
	return 1 + deepest
}

func hasRules(s *apiextensionsv1.JSONSchemaProps) bool {
	if s == nil {
		return false
	}
	if len(s.XValidations) > 0 || s.Items != nil && hasRules(s.Items.Schema) || s.AdditionalProperties != nil && hasRules(s.AdditionalProperties.Schema) {
		return true
	}
	for _, inner := range s.Properties {
		if hasRules(&inner) {
			return true
		}
	}
	return false
}
