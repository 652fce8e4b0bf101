// SPDX-License-Identifier: Apache-2.0

// Package scheme says which Go types the server reads and writes as which API types, and
// which defaults they get when they are read. While each group has one version, its one Go
// type serves as the versioned and as the internal type; the registration as internal is
// the server's own affair and never leaves this module.
package scheme

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/defaulting"
)

// GroupVersions are the group versions that are served and stored.
func GroupVersions() schema.GroupVersions {
	return schema.GroupVersions{
		corev1alpha1.SchemeGroupVersion,
		sourcev1alpha1.SchemeGroupVersion,
		extv1alpha1.SchemeGroupVersion,
	}
}

// New builds the scheme with which requests and stored objects are decoded and encoded.
func New() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := addVersioned(s); err != nil {
		return nil, err
	}
	for _, gv := range GroupVersions() {
		if err := s.SetVersionPriority(gv); err != nil {
			return nil, fmt.Errorf("setting the version priority of %s: %w", gv.Group, err)
		}
	}
	addInternal(s)
	addUnversioned(s)
	addDefaults(s)
	return s, nil
}

// ForNames builds a scheme of the versioned types only. OpenAPI definitions are named by
// it: named by the scheme of New, they would show an internal version to clients, and
// server-side apply would not find its types.
func ForNames() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := addVersioned(s); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s, nil
}

func addVersioned(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		corev1alpha1.AddToScheme, sourcev1alpha1.AddToScheme, extv1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return fmt.Errorf("adding API types: %w", err)
		}
	}
	return nil
}

func addInternal(s *runtime.Scheme) {
	internal := func(group string) schema.GroupVersion {
		return schema.GroupVersion{Group: group, Version: runtime.APIVersionInternal}
	}
	s.AddKnownTypes(internal(corev1alpha1.GroupName),
		&corev1alpha1.Cluster{}, &corev1alpha1.ClusterList{},
		&corev1alpha1.Release{}, &corev1alpha1.ReleaseList{},
		&corev1alpha1.ReleaseInventory{}, &corev1alpha1.ReleaseInventoryList{},
		&corev1alpha1.ReleaseSyncOptions{}, &corev1alpha1.ReleasePreviewOptions{},
		&corev1alpha1.ReleaseDiffOptions{}, &corev1alpha1.ReleaseHealthOptions{},
		&corev1alpha1.ReleaseHistoryOptions{}, &corev1alpha1.ReleaseValuesOptions{},
	)
	s.AddKnownTypes(internal(sourcev1alpha1.GroupName),
		&sourcev1alpha1.GitRepository{}, &sourcev1alpha1.GitRepositoryList{},
		&sourcev1alpha1.HelmRegistry{}, &sourcev1alpha1.HelmRegistryList{},
		&sourcev1alpha1.OCIRegistry{}, &sourcev1alpha1.OCIRegistryList{},
	)
	s.AddKnownTypes(internal(extv1alpha1.GroupName),
		&extv1alpha1.HealthRuleSet{}, &extv1alpha1.HealthRuleSetList{},
		&extv1alpha1.GlobalHealthRuleSet{}, &extv1alpha1.GlobalHealthRuleSetList{},
	)
}

// addUnversioned adds the types that every API server answers with.
func addUnversioned(s *runtime.Scheme) {
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(s, v1)
	s.AddUnversionedTypes(v1, &metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{},
		&metav1.APIGroup{}, &metav1.APIResourceList{})
}

// addDefaults lets objects get their defaults wherever they are decoded: from requests,
// patches and server-side apply before admission sees them, and from storage, so that an
// object that was stored before a default existed has it too.
func addDefaults(s *runtime.Scheme) {
	addDefault(s, defaulting.Cluster)
	addDefault(s, defaulting.Release)
	addDefault(s, defaulting.GitRepository)
	addDefault(s, defaulting.HelmRegistry)
	addDefault(s, defaulting.OCIRegistry)
}

func addDefault[T any](s *runtime.Scheme, apply func(*T)) {
	s.AddTypeDefaultingFunc(any(new(T)).(runtime.Object), func(obj any) { apply(obj.(*T)) })
}
