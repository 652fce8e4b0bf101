// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// Validate refuses what cannot be applied, before anything is written: kinds that the
// cluster does not serve and no definition among the objects defines, wrong scopes, and
// lists that hold one key twice, which server-side apply cannot express. What a render
// guarantees of its objects is not checked again, but for what depends on the cluster: a
// stored render may be older than what the cluster serves today. objects is the whole of a
// render, its hooks' objects included, since a definition in one serves another.
//
// The error is a *ValidationError with every problem found, or that of a look-up of a kind
// that failed.
func (a *Applier) Validate(ctx context.Context, objects []render.Object) error {
	v := validation{
		applier:     a,
		definitions: definitionsIn(objects),
		scopes:      map[schema.GroupVersionKind]scope{},
		problems:    a.configurationProblems(),
	}
	for _, o := range objects {
		v.object = o
		if err := v.kind(ctx); err != nil {
			return err
		}
		for _, message := range duplicates(o.Object) {
			v.refuse("%s", message)
		}
	}
	if len(v.problems) > 0 {
		return &ValidationError{Problems: v.problems}
	}
	return nil
}

// configurationProblems are those of the Release's spec.
func (a *Applier) configurationProblems() []Problem {
	if a.ignoresErr == nil {
		return nil
	}
	return []Problem{{Reason: corev1alpha1.ReasonInvalidConfiguration, Message: a.ignoresErr.Error()}}
}

// validation is under way; object is the one that is looked at.
type validation struct {
	applier     *Applier
	definitions map[schema.GroupKind]definition
	scopes      map[schema.GroupVersionKind]scope
	object      render.Object
	problems    []Problem
}

// scope is what is known of a kind's place in the cluster.
type scope struct {
	served     bool
	namespaced bool
}

func (v *validation) refuse(format string, args ...any) {
	v.add(corev1alpha1.ReasonInvalidObjects, fmt.Sprintf(format, args...))
}

func (v *validation) add(reason, message string) {
	v.problems = append(v.problems, Problem{Key: v.object.Key(), Origin: v.object.Origin, Reason: reason, Message: message})
}

// kind checks that the kind exists, or will once the objects' definitions are applied, and
// that the object names a namespace just when it needs one.
func (v *validation) kind(ctx context.Context) error {
	gvk := v.object.Object.GroupVersionKind()
	found, err := v.scope(ctx, gvk)
	if err != nil {
		return err
	}
	namespace := v.object.Object.GetNamespace()
	switch {
	case !found.served:
		v.add(corev1alpha1.ReasonUnknownKind, v.unknown(gvk))
	case found.namespaced && namespace == "":
		v.refuse("names no namespace, which its kind needs")
	case !found.namespaced && namespace != "":
		v.refuse("names namespace %q, but its kind is cluster-scoped", namespace)
	}
	return nil
}

func (v *validation) scope(ctx context.Context, gvk schema.GroupVersionKind) (scope, error) {
	if d, ok := v.definitions[gvk.GroupKind()]; ok {
		return scope{served: slices.Contains(d.versions, gvk.Version), namespaced: d.namespaced}, nil
	}
	if known, ok := v.scopes[gvk]; ok {
		return known, nil
	}
	mapping, err := v.applier.target.Mapping(ctx, gvk)
	var found scope
	switch {
	case err == nil:
		found = scope{served: true, namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}
	case !meta.IsNoMatchError(err):
		return scope{}, fmt.Errorf("looking for the kind of %s: %w", describe(v.object.Key()), err)
	}
	v.scopes[gvk] = found
	return found, nil
}

func (v *validation) unknown(gvk schema.GroupVersionKind) string {
	if d, ok := v.definitions[gvk.GroupKind()]; ok {
		return fmt.Sprintf("version %s of its kind is not among those that %s serves: %s", gvk.Version, d.name, strings.Join(d.versions, ", "))
	}
	return fmt.Sprintf("the target cluster serves no kind %s in %s, and no CustomResourceDefinition of this Release defines it", gvk.Kind, gvk.GroupVersion())
}

// definition is what a CustomResourceDefinition of the render says of its kind.
type definition struct {
	name       string
	namespaced bool
	versions   []string // served
}

func definitionsIn(objects []render.Object) map[schema.GroupKind]definition {
	found := map[schema.GroupKind]definition{}
	for _, o := range objects {
		if groupKind(o.Object) == definitionKind {
			kind, d := definitionOf(o.Object)
			found[kind] = d
		}
	}
	return found
}

func definitionOf(crd *unstructured.Unstructured) (schema.GroupKind, definition) {
	d := definition{name: "CustomResourceDefinition " + crd.GetName()}
	var kind schema.GroupKind
	kind.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	kind.Kind, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "kind")
	where, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	d.namespaced = where == "Namespaced"
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if name, _ := version["name"].(string); version["served"] == true {
			d.versions = append(d.versions, name)
		}
	}
	return kind, d
}
