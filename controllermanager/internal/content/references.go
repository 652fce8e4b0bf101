// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
)

// HostReader reads ConfigMaps and Secrets of the host cluster. Of an absent object the
// error is an API NotFound error.
type HostReader interface {
	ConfigMap(ctx context.Context, namespace, name string) (map[string]string, error)
	Secret(ctx context.Context, namespace, name string) (map[string][]byte, error)
}

// References reads what a render refers to besides its artifact: objects of the host
// cluster and files of sources.
type References struct {
	HostReader
	Lookup  sources.Lookup
	Fetcher fetch.Fetcher
	// MaxAge is how old the look at a moving reference may be.
	MaxAge time.Duration
}

// File gives a file of a GitRepository or OCIRegistry. The error of an absent object is an
// API NotFound error, that of an absent file fs.ErrNotExist, and others are the fetch
// coordinator's.
func (r References) File(ctx context.Context, namespace string, ref corev1alpha1.ValuesReference) ([]byte, error) {
	source, err := r.Lookup.Find(namespace, sources.Reference{Kind: ref.Kind, Name: ref.Name})
	if err != nil {
		return nil, err
	}
	return fetch.ReadFile(ctx, r.Fetcher, namespace, source, ref, r.MaxAge, render.MaxValuesFile)
}

// Chart gives a chart that another one depends on. Errors are those of fetch.ReadChart.
func (r References) Chart(ctx context.Context, namespace string, wanted render.Dependency) (render.Artifact, error) {
	registries, err := r.Lookup.Registries(namespace)
	if err != nil {
		return render.Artifact{}, err
	}
	artifact, err := fetch.ReadChart(ctx, r.Fetcher, namespace, registries, fetch.Dependency(wanted), r.MaxAge)
	if err != nil {
		return render.Artifact{}, err
	}
	return render.Artifact(*artifact), nil
}
