// SPDX-License-Identifier: Apache-2.0

// Package sources finds the source objects that Releases refer to in informer caches, so
// that every process finds the same ones for a Release. It fetches nothing.
package sources

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	sourcelisters "kumodo.io/convoy/client/listers/source/v1alpha1"
)

// Kinds of source objects.
const (
	KindGitRepository = "GitRepository"
	KindHelmRegistry  = "HelmRegistry"
	KindOCIRegistry   = "OCIRegistry"
)

// Object is a source object: a *GitRepository, *HelmRegistry or *OCIRegistry.
type Object interface {
	runtime.Object
	metav1.Object
}

// Reference names a source object of some namespace.
type Reference struct {
	// Kind is one of the three kinds of sources.
	Kind string
	Name string
}

// String gives the reference as messages show it.
func (r Reference) String() string { return r.Kind + " " + r.Name }

// ReferenceOf gives the source object that content is taken from; ok is false when there
// is none.
func ReferenceOf(content corev1alpha1.ReleaseSource) (reference Reference, ok bool) {
	switch {
	case content.Git != nil:
		return Reference{Kind: KindGitRepository, Name: content.Git.RepositoryRef.Name}, true
	case content.Helm != nil:
		return Reference{Kind: KindHelmRegistry, Name: content.Helm.RegistryRef.Name}, true
	case content.OCI != nil:
		return Reference{Kind: KindOCIRegistry, Name: content.OCI.RegistryRef.Name}, true
	}
	return Reference{}, false
}

// ErrNoSource says that a Release names no source at all.
var ErrNoSource = errors.New("spec.source names no source")

// ReferencesOf gives every source object that a Release draws on: that of its content
// first, then those of its values.
func ReferencesOf(release *corev1alpha1.Release) []Reference {
	var references []Reference
	if reference, ok := ReferenceOf(release.Spec.Source); ok {
		references = append(references, reference)
	}
	if release.Spec.Render == nil || release.Spec.Render.Helm == nil {
		return references
	}
	for _, from := range release.Spec.Render.Helm.ValuesFrom {
		if from.Kind == KindGitRepository || from.Kind == KindOCIRegistry {
			references = append(references, Reference{Kind: from.Kind, Name: from.Name})
		}
	}
	return references
}

// Conditions gives the conditions of a source.
func Conditions(source Object) []metav1.Condition {
	switch s := source.(type) {
	case *sourcev1alpha1.GitRepository:
		return s.Status.Conditions
	case *sourcev1alpha1.HelmRegistry:
		return s.Status.Conditions
	case *sourcev1alpha1.OCIRegistry:
		return s.Status.Conditions
	}
	return nil
}

// Lookup finds source objects in informer caches. What it gives is shared and must not be
// changed.
type Lookup struct {
	GitRepositories sourcelisters.GitRepositoryLister
	HelmRegistries  sourcelisters.HelmRegistryLister
	OCIRegistries   sourcelisters.OCIRegistryLister
}

// Find gives a source object of the namespace. The error of an absent one is an API NotFound
// error.
func (l Lookup) Find(namespace string, reference Reference) (Object, error) {
	switch reference.Kind {
	case KindGitRepository:
		return object(l.GitRepositories.GitRepositories(namespace).Get(reference.Name))
	case KindHelmRegistry:
		return object(l.HelmRegistries.HelmRegistries(namespace).Get(reference.Name))
	case KindOCIRegistry:
		return object(l.OCIRegistries.OCIRegistries(namespace).Get(reference.Name))
	}
	return nil, fmt.Errorf("%s is no kind of source", reference.Kind)
}

// object keeps a nil pointer from becoming an Object that is not nil.
func object[T Object](found T, err error) (Object, error) {
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Registries gives all HelmRegistries and OCIRegistries of a namespace.
func (l Lookup) Registries(namespace string) ([]runtime.Object, error) {
	helm, err := l.HelmRegistries.HelmRegistries(namespace).List(labels.Everything())
	if err != nil {
		return nil, err
	}
	oci, err := l.OCIRegistries.OCIRegistries(namespace).List(labels.Everything())
	if err != nil {
		return nil, err
	}
	all := make([]runtime.Object, 0, len(helm)+len(oci))
	for _, registry := range helm {
		all = append(all, registry)
	}
	for _, registry := range oci {
		all = append(all, registry)
	}
	return all, nil
}
