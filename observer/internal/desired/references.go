// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"context"
	"fmt"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/references"
)

// valueReferences finds what values come from: ConfigMaps and Secrets of the host, files
// of sources.
type valueReferences struct {
	*references.Reader
	fetch   *fetch.Coordinator
	sources Sources
}

// NewReferences returns what a renderer asks for values.
func NewReferences(reader *references.Reader, coordinator *fetch.Coordinator, sources Sources) *valueReferences {
	return &valueReferences{Reader: reader, fetch: coordinator, sources: sources}
}

// File reads a file of a GitRepository or OCIRegistry.
func (v *valueReferences) File(ctx context.Context, namespace string, ref corev1alpha1.ValuesReference) ([]byte, error) {
	var named corev1alpha1.ReleaseSource
	switch ref.Kind {
	case "GitRepository":
		named.Git = &corev1alpha1.GitSource{RepositoryRef: corev1alpha1.LocalReference{Name: ref.Name}}
	case "OCIRegistry":
		named.OCI = &corev1alpha1.OCISource{RegistryRef: corev1alpha1.LocalReference{Name: ref.Name}}
	default:
		return nil, fmt.Errorf("values from a %s: must be ConfigMap, Secret, GitRepository or OCIRegistry", ref.Kind)
	}
	source, err := v.sources.Source(ctx, namespace, named)
	if err != nil {
		return nil, err
	}
	return fetch.ReadFile(ctx, v.fetch, namespace, source, ref, previewAge)
}
