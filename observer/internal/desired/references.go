// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"context"
	"fmt"

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

// References finds what values come from: ConfigMaps and Secrets of the host, files of
// sources.
type References struct {
	HostReader
	Fetch   fetch.Fetcher
	Sources sources.Lookup
}

// File reads a file of a GitRepository or OCIRegistry. The error of an absent file is
// fs.ErrNotExist, that of an object that is absent or suspended ErrSource; others are those of
// package fetch.
func (r References) File(ctx context.Context, namespace string, ref corev1alpha1.ValuesReference) ([]byte, error) {
	source, err := askable(r.Sources, namespace, sources.Reference{Kind: ref.Kind, Name: ref.Name})
	if err != nil {
		return nil, err
	}
	return fetch.ReadFile(ctx, r.Fetch, namespace, source, ref, previewAge, render.MaxValuesFile)
}

// Chart gives a chart that another one depends on. Errors are those of fetch.ReadChart.
func (r References) Chart(ctx context.Context, namespace string, wanted render.Dependency) (render.Artifact, error) {
	registries, err := r.Sources.Registries(namespace)
	if err != nil {
		return render.Artifact{}, err
	}
	artifact, err := fetch.ReadChart(ctx, r.Fetch, namespace, registries, fetch.Dependency(wanted), previewAge)
	if err != nil {
		return render.Artifact{}, err
	}
	return render.Artifact(*artifact), nil
}

// askable finds a source object, which is ErrSource when nothing can be asked of it. Where it
// is absent, apierrors.IsNotFound holds for the error, too.
func askable(lookup sources.Lookup, namespace string, reference sources.Reference) (sources.Object, error) {
	source, err := lookup.Find(namespace, reference)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	case fetch.Suspended(source):
		return nil, fmt.Errorf("%w: %s is suspended", ErrSource, reference)
	}
	return source, nil
}
