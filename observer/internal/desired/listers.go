// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	sourcelisters "kumodo.io/convoy/client/listers/source/v1alpha1"
)

// Listers finds source objects in informer caches.
type Listers struct {
	GitRepositories sourcelisters.GitRepositoryLister
	HelmRegistries  sourcelisters.HelmRegistryLister
	OCIRegistries   sourcelisters.OCIRegistryLister
}

// Source implements Sources.
func (l *Listers) Source(_ context.Context, namespace string, content corev1alpha1.ReleaseSource) (runtime.Object, error) {
	var source runtime.Object
	var err error
	switch {
	case content.Git != nil:
		source, err = l.GitRepositories.GitRepositories(namespace).Get(content.Git.RepositoryRef.Name)
	case content.Helm != nil:
		source, err = l.HelmRegistries.HelmRegistries(namespace).Get(content.Helm.RegistryRef.Name)
	case content.OCI != nil:
		source, err = l.OCIRegistries.OCIRegistries(namespace).Get(content.OCI.RegistryRef.Name)
	default:
		return nil, fmt.Errorf("%w: the Release names none", ErrSource)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	return source, nil
}

// Registries implements Sources.
func (l *Listers) Registries(_ context.Context, namespace string) ([]runtime.Object, error) {
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

// askable is ErrSource for a source that is suspended: nothing may be asked of it.
func askable(source runtime.Object) error {
	suspended, what := false, ""
	switch s := source.(type) {
	case *sourcev1alpha1.GitRepository:
		suspended, what = s.Spec.Suspend, "GitRepository "+s.Name
	case *sourcev1alpha1.HelmRegistry:
		suspended, what = s.Spec.Suspend, "HelmRegistry "+s.Name
	case *sourcev1alpha1.OCIRegistry:
		suspended, what = s.Spec.Suspend, "OCIRegistry "+s.Name
	}
	if suspended {
		return fmt.Errorf("%w: %s is suspended", ErrSource, what)
	}
	return nil
}
