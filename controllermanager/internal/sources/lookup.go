// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/internal/sources"
)

// Kinds of source objects.
const (
	KindGitRepository = sources.KindGitRepository
	KindHelmRegistry  = sources.KindHelmRegistry
	KindOCIRegistry   = sources.KindOCIRegistry
)

// What is found, and by what, is the same in convoy-observer.
type (
	// Object is a source object: a *GitRepository, *HelmRegistry or *OCIRegistry.
	Object = sources.Object
	// Reference names a source object of some namespace.
	Reference = sources.Reference
	// Lookup finds source objects in informer caches.
	Lookup = sources.Lookup
)

// ErrNoSource says that a Release names no source at all.
var ErrNoSource = errors.New("spec.source names no source")

// ReferenceOf gives the source object that content is taken from; ok is false when there
// is none.
func ReferenceOf(content corev1alpha1.ReleaseSource) (reference Reference, ok bool) {
	return sources.ReferenceOf(content)
}

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
