// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const (
	// AnnotationFrom on what a migration made says of which object:
	// <group>/<Kind>/<namespace>/<name>.
	AnnotationFrom = "convoy.kumodo.io/migrated-from"
	// AnnotationTo on a migrated object names the Release that took its place, or several,
	// divided by commas.
	AnnotationTo = "convoy.kumodo.io/migrated-to"
	// AnnotationWas on a migrated object is what the migration changed of it, as it was.
	AnnotationWas = "convoy.kumodo.io/before-migration"
)

// Finding is something about an object that a person has to know.
type Finding struct {
	// Field it is about, as spec.postBuild.
	Field string
	// Message says what about it, and the way out.
	Message string
	// Unmapped is true for what gets lost: without it, something else would be delivered, or
	// otherwise.
	Unmapped bool
}

// Findings collects what there is to know about an object.
type Findings []Finding

// Unmapped adds something that has no counterpart.
func (f *Findings) Unmapped(field, message string) { f.add(Finding{field, message, true}) }

// Note adds something that changes nothing of what is delivered.
func (f *Findings) Note(field, message string) { f.add(Finding{field, message, false}) }

func (f *Findings) add(finding Finding) {
	if !slices.Contains(*f, finding) {
		*f = append(*f, finding)
	}
}

// Lost tells whether anything has no counterpart.
func (f Findings) Lost() bool {
	return slices.ContainsFunc(f, func(finding Finding) bool { return finding.Unmapped })
}

// Migration is an object of another tool and what takes its place.
type Migration struct {
	// Old is the object.
	Old *unstructured.Unstructured
	// Releases take its place; none when it cannot be mapped at all.
	Releases []*corev1alpha1.Release
	// Support are the Secrets, sources and Clusters that they need and that do not exist yet.
	Support []runtime.Object
	// Remote is true when what it delivers is in another cluster than the host.
	Remote bool
	Findings
}

// Kind is the kind of the object.
func (m *Migration) Kind() schema.GroupKind { return m.Old.GroupVersionKind().GroupKind() }

// From is the object's value of AnnotationFrom.
func (m *Migration) From() string {
	kind := m.Kind()
	return fmt.Sprintf("%s/%s/%s/%s", kind.Group, kind.Kind, m.Old.GetNamespace(), m.Old.GetName())
}

// Meta gives the metadata of an object that is made for the migration.
func (m *Migration) Meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{AnnotationFrom: m.From()}}
}

// Name is how the object is written for people: Kind namespace/name.
func (m *Migration) Name() string {
	return fmt.Sprintf("%s %s/%s", m.Kind().Kind, m.Old.GetNamespace(), m.Old.GetName())
}

// Support gives what several migrations need besides their Releases, each once. The error names
// those that two need with one name and different content.
func Support(all []*Migration) ([]runtime.Object, error) {
	type key struct {
		kind            schema.GroupVersionKind
		namespace, name string
	}
	var order []runtime.Object
	var clashes []error
	seen := map[key]*Migration{}
	at := map[key]int{}
	for _, m := range all {
		for _, object := range m.Support {
			accessor := object.(metav1.Object)
			k := key{object.GetObjectKind().GroupVersionKind(), accessor.GetNamespace(), accessor.GetName()}
			first, twice := seen[k]
			if !twice {
				seen[k], at[k] = m, len(order)
				order = append(order, object)
				continue
			}
			if !sameContent(order[at[k]], object) {
				clashes = append(clashes, fmt.Errorf("%s and %s need different objects %s %s/%s: migrate them one after the other, and rename one",
					first.Name(), m.Name(), k.kind.Kind, k.namespace, k.name))
			}
		}
	}
	return order, errors.Join(clashes...)
}

// sameContent compares two objects but for who they were made for.
func sameContent(a, b runtime.Object) bool {
	contents := [2]map[string]any{}
	for i, object := range []runtime.Object{a, b} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return false
		}
		unstructured.RemoveNestedField(content, "metadata", "annotations", AnnotationFrom)
		contents[i] = content
	}
	return reflect.DeepEqual(contents[0], contents[1])
}
