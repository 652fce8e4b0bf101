// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of the kinds in this package.
const GroupName = "core.convoy.kumodo.io"

var (
	// SchemeGroupVersion is the group and version of the kinds in this package.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// SchemeBuilder collects the functions that add this package's kinds to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds this package's kinds to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Kind returns the group-qualified form of an unqualified kind of this group.
func Kind(kind string) schema.GroupKind {
	return SchemeGroupVersion.WithKind(kind).GroupKind()
}

// Resource returns the group-qualified form of an unqualified resource of this group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Cluster{},
		&ClusterList{},
		&Release{},
		&ReleaseList{},
		&ReleaseInventory{},
		&ReleaseInventoryList{},
		&ReleasePreview{},
		&ReleaseDiff{},
		&ReleaseHealth{},
		&ReleaseHistory{},
		&ReleaseValues{},
		&ReleaseSyncOptions{},
		&ReleasePreviewOptions{},
		&ReleaseDiffOptions{},
		&ReleaseHealthOptions{},
		&ReleaseHistoryOptions{},
		&ReleaseValuesOptions{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

// localSchemeBuilder is what the generated conversions of query parameters add themselves to.
var localSchemeBuilder = &SchemeBuilder
