// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
)

// Fetcher finds revisions and gives their content.
type Fetcher interface {
	Resolve(ctx context.Context, want fetch.Want) (revision string, checkedAt time.Time, err error)
	Fetch(ctx context.Context, want fetch.Want, revision string) (*fetch.Artifact, error)
}

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
	Lookup  Lookup
	Fetcher Fetcher
	// MaxAge is how old the look at a moving reference may be.
	MaxAge time.Duration
}

// File gives a file of a GitRepository or OCIRegistry. The error of an absent object is an
// API NotFound error, that of an absent file fs.ErrNotExist, and others are the fetch
// coordinator's.
func (r References) File(ctx context.Context, namespace string, ref corev1alpha1.ValuesReference) ([]byte, error) {
	source, err := r.Lookup.Find(namespace, Reference{Kind: ref.Kind, Name: ref.Name})
	if err != nil {
		return nil, err
	}
	if Suspended(source) {
		return nil, fmt.Errorf("%s %s is suspended", ref.Kind, ref.Name)
	}
	artifact, err := r.first(ctx, namespace, source, contents(ref))
	if err != nil {
		return nil, err
	}
	content, err := fs.ReadFile(artifact.Root, path.Clean(ref.Path))
	if err != nil {
		return nil, fmt.Errorf("%s %s at %s: %w", ref.Kind, ref.Name, artifact.Revision, err)
	}
	return content, nil
}

// first gives the content of the first candidate that the source has.
func (r References) first(ctx context.Context, namespace string, source Object, candidates []corev1alpha1.ReleaseSource) (*fetch.Artifact, error) {
	var absent error
	for _, content := range candidates {
		want := fetch.Want{Namespace: namespace, Source: source, Content: content, MaxAge: r.MaxAge}
		revision, _, err := r.Fetcher.Resolve(ctx, want)
		if errors.Is(err, fetch.ErrNotFound) {
			absent = errors.Join(absent, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		return r.Fetcher.Fetch(ctx, want, revision)
	}
	return nil, absent
}

// contents gives what a reference may mean, most likely first: a ref of a GitRepository is
// the name of a branch or of a tag; one of an OCIRegistry is a tag, or a repository and a
// tag joined by a colon.
func contents(ref corev1alpha1.ValuesReference) []corev1alpha1.ReleaseSource {
	if ref.Kind == KindOCIRegistry {
		repository, tag := "", ref.Ref
		if at := strings.LastIndex(ref.Ref, ":"); at >= 0 {
			repository, tag = ref.Ref[:at], ref.Ref[at+1:]
		}
		return []corev1alpha1.ReleaseSource{{OCI: &corev1alpha1.OCISource{
			RegistryRef: corev1alpha1.LocalReference{Name: ref.Name}, Repository: repository, Ref: corev1alpha1.OCIRef{Tag: tag},
		}}}
	}
	git := func(wanted corev1alpha1.GitRef) corev1alpha1.ReleaseSource {
		return corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{
			RepositoryRef: corev1alpha1.LocalReference{Name: ref.Name}, Ref: wanted,
		}}
	}
	if ref.Ref == "" {
		return []corev1alpha1.ReleaseSource{git(corev1alpha1.GitRef{})}
	}
	return []corev1alpha1.ReleaseSource{git(corev1alpha1.GitRef{Branch: ref.Ref}), git(corev1alpha1.GitRef{Tag: ref.Ref})}
}
