// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/weight"
)

// Objects are what mutations are applied to.
type Objects struct {
	// Documents are the objects, with their namespaces set. They are not changed.
	Documents []manifest.Document
	// Namespaced tells of their kinds whether objects live in namespaces, Namespace is that of
	// objects which name none.
	Namespaced map[schema.GroupKind]bool
	Namespace  string
	// Most is how many bytes of memory mutations may add to all of them together.
	Most int64
	// Begin is told the name of each mutation before it changes the first object.
	Begin func(name string)

	// added is how many bytes there are more.
	added int64
}

// Apply gives the objects with mutations applied, in order, each to all objects that it matches.
// One mutation is held parsed at a time. It ends with ctx, between objects and between the
// operations of a JSON patch. Errors name the mutation and the object;
// a *limit.Error, a *manifest.InvalidError or the error of ctx may be in their chain.
func (o *Objects) Apply(ctx context.Context, mutations []corev1alpha1.Mutation) ([]manifest.Document, error) {
	documents := append([]manifest.Document(nil), o.Documents...)
	for _, m := range mutations {
		matched, err := o.apply(ctx, m, documents)
		if err != nil {
			return nil, err
		}
		if !matched && !m.Optional {
			return nil, fmt.Errorf("mutation %q matches no object of the render; correct its target, or set optional: true", m.Name)
		}
	}
	return documents, nil
}

func (o *Objects) apply(ctx context.Context, given corev1alpha1.Mutation, documents []manifest.Document) (matched bool, err error) {
	if len(documents) == 0 {
		return false, nil
	}
	m, err := Compile(given)
	if err != nil {
		return false, &InvalidError{Name: given.Name, cause: err}
	}
	for i := range documents {
		d := &documents[i]
		if err := limit.Ended(ctx); err != nil {
			return false, m.failed(d, err)
		}
		if !m.Matches(d.Object) {
			continue
		}
		if !matched && o.Begin != nil {
			o.Begin(m.Name)
		}
		matched = true
		if err := o.change(ctx, m, d); err != nil {
			return false, err
		}
	}
	return matched, nil
}

// change applies a mutation to one object.
func (o *Objects) change(ctx context.Context, m *Mutation, d *manifest.Document) error {
	mutated, err := m.Apply(ctx, d.Object)
	if err != nil {
		return m.failed(d, err)
	}
	// All objects together: each of them may be within the limits of one.
	if o.added += weight.Of(mutated.Object) - weight.Of(d.Object.Object); o.added > o.Most {
		return limit.Of(limit.FlagBytes, "mutation %q and those before it add more than %s to the objects", m.Name, limit.Size(o.Most))
	}
	d.Object = mutated
	if err := manifest.Clean(d); err != nil {
		return fmt.Errorf("after mutation %q: %w", m.Name, err)
	}
	o.place(d.Object)
	return nil
}

func (m *Mutation) failed(d *manifest.Document, err error) error {
	return fmt.Errorf("mutation %q of %s (%s): %w", m.Name, manifest.Name(d.Object.Object), d.Origin, err)
}

// place sets the namespace that a changed object ends up in.
func (o *Objects) place(object *unstructured.Unstructured) {
	switch namespaced := o.Namespaced[object.GroupVersionKind().GroupKind()]; {
	case !namespaced:
		unstructured.RemoveNestedField(object.Object, "metadata", "namespace")
	case object.GetNamespace() == "":
		object.SetNamespace(o.Namespace)
	}
}
