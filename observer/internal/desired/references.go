// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"context"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
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
	Sources Sources
}

// File reads a file of a GitRepository or OCIRegistry. The error of an absent file is
// fs.ErrNotExist; others are those of Sources and of package fetch.
func (r References) File(ctx context.Context, namespace string, ref corev1alpha1.ValuesReference) ([]byte, error) {
	object := corev1alpha1.LocalReference{Name: ref.Name}
	named := corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{RepositoryRef: object}}
	if ref.Kind == "OCIRegistry" {
		named = corev1alpha1.ReleaseSource{OCI: &corev1alpha1.OCISource{RegistryRef: object}}
	}
	source, err := r.Sources.Source(ctx, namespace, named)
	if err != nil {
		return nil, err
	}
	if err := askable(source); err != nil {
		return nil, err
	}
	return fetch.ReadFile(ctx, r.Fetch, namespace, source, ref, previewAge)
}

// Chart gives a chart that another one depends on. Errors are those of Sources and of
// fetch.ReadChart.
func (r References) Chart(ctx context.Context, namespace string, wanted render.Dependency) (render.Artifact, error) {
	registries, err := r.Sources.Registries(ctx, namespace)
	if err != nil {
		return render.Artifact{}, err
	}
	artifact, err := fetch.ReadChart(ctx, r.Fetch, namespace, registries, fetch.Dependency(wanted), previewAge)
	if err != nil {
		return render.Artifact{}, err
	}
	return render.Artifact{
		Root: artifact.Root, Path: artifact.Path, Digest: artifact.Digest, RootDigest: artifact.RootDigest, Revision: artifact.Revision,
	}, nil
}
