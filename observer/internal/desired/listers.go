// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcelisters "kumodo.io/convoy/client/listers/source/v1alpha1"
)

// Listers finds source objects in informer caches.
type Listers struct {
	GitRepositories sourcelisters.GitRepositoryLister
	HelmRegistries  sourcelisters.HelmRegistryLister
	OCIRegistries   sourcelisters.OCIRegistryLister
}

// Source implements Sources.
func (l *Listers) Source(_ context.Context, namespace string, source corev1alpha1.ReleaseSource) (runtime.Object, error) {
	switch {
	case source.Git != nil:
		return l.GitRepositories.GitRepositories(namespace).Get(source.Git.RepositoryRef.Name)
	case source.Helm != nil:
		return l.HelmRegistries.HelmRegistries(namespace).Get(source.Helm.RegistryRef.Name)
	case source.OCI != nil:
		return l.OCIRegistries.OCIRegistries(namespace).Get(source.OCI.RegistryRef.Name)
	}
	return nil, errors.New("the Release names no source")
}
