// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/digest"
)

// scopes say of the kinds of a draft whether their objects live in namespaces.
type scopes struct {
	namespaced map[schema.GroupKind]bool
	// defined are the kinds that CustomResourceDefinitions of the draft define.
	defined map[schema.GroupKind]bool
	// digest of it all.
	digest string
}

// scopesOf finds the scope of every kind of a draft: what the draft itself defines counts,
// then what the cluster serves. A kind that neither knows is an Error that names an object
// and its file.
func scopesOf(ctx context.Context, cluster Cluster, d *draft) (*scopes, error) {
	s := &scopes{namespaced: map[schema.GroupKind]bool{}, defined: map[schema.GroupKind]bool{}}
	var unknown []string
	for _, k := range d.kinds {
		namespaced, ok := d.own[k.GroupVersionKind]
		if ok {
			s.defined[k.GroupKind()] = true
		} else {
			var err error
			namespaced, err = cluster.Namespaced(ctx, k.GroupVersionKind)
			if meta.IsNoMatchError(err) {
				unknown = append(unknown, fmt.Sprintf("%s of %s (%s)", k.GroupVersion().String()+"/"+k.Kind, k.object, k.origin))
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("asking the target cluster for the kind %s: %w", k, err)
			}
		}
		s.namespaced[k.GroupKind()] = namespaced
	}
	if len(unknown) > 0 {
		return nil, unknownKinds(unknown)
	}
	var err error
	s.digest, err = digest.Of(s.lines())
	return s, err
}

func (s *scopes) lines() []string {
	var lines []string
	for gk, namespaced := range maps.All(s.namespaced) {
		lines = append(lines, fmt.Sprintf("%s %t %t", gk, namespaced, s.defined[gk]))
	}
	slices.Sort(lines)
	return lines
}

// named is how many things a message lists at most.
const named = 5

func unknownKinds(unknown []string) *Error {
	rest := ""
	if len(unknown) > named {
		rest = fmt.Sprintf(" and %d more", len(unknown)-named)
		unknown = unknown[:named]
	}
	return failure(corev1alpha1.ReasonUnknownKind,
		"the target cluster does not serve the kind, and no CustomResourceDefinition in the render defines it: %s%s", strings.Join(unknown, "; "), rest)
}

// kind is a kind of which there is an object.
type kind struct {
	schema.GroupVersionKind
	// object is the name of the first of the kind, origin where it stands.
	object, origin string
}

func kindsIn(d *draft) []kind {
	var kinds []kind
	seen := map[schema.GroupVersionKind]bool{}
	for _, i := range d.all() {
		gvk := i.object.GroupVersionKind()
		if !seen[gvk] {
			kinds = append(kinds, kind{GroupVersionKind: gvk, object: i.object.GetName(), origin: i.origin})
		}
		seen[gvk] = true
	}
	return kinds
}

// all gives the objects of a draft, those of hooks included.
func (d *draft) all() []item {
	all := slices.Clone(d.objects)
	for _, h := range d.hooks {
		all = append(all, h.item)
	}
	return all
}

// definedKinds gives the kinds that CustomResourceDefinitions of a draft define, and
// whether they are namespaced.
func definedKinds(d *draft) map[schema.GroupVersionKind]bool {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, i := range d.objects {
		for _, gvk := range kindsOf(i.object) {
			scope, _, _ := unstructured.NestedString(i.object.Object, "spec", "scope")
			kinds[gvk] = scope == "Namespaced"
		}
	}
	return kinds
}

// kindsOf gives the kinds that an object defines, which is none unless it is a
// CustomResourceDefinition.
func kindsOf(object *unstructured.Unstructured) []schema.GroupVersionKind {
	if object.GroupVersionKind().GroupKind() != crdKind {
		return nil
	}
	group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "versions")
	list, _ := versions.([]any)
	var kinds []schema.GroupVersionKind
	for _, version := range list {
		fields, _ := version.(map[string]any)
		if name, _ := fields["name"].(string); name != "" && fields["served"] == true {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return kinds
}

var crdKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
