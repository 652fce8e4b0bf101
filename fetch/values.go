// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
)

// Fetcher finds revisions and gives their content; a *Coordinator is one.
type Fetcher interface {
	Resolve(ctx context.Context, want Want) (revision string, checkedAt time.Time, err error)
	Fetch(ctx context.Context, want Want, revision string) (*Artifact, error)
}

// ReadFile gives the file that a values reference names in a source, a *GitRepository or an
// *OCIRegistry of the namespace. maxAge is how old the look at a moving reference may be.
// The error of an absent file is fs.ErrNotExist, that of one of more than most bytes ErrLimit;
// others are those of Resolve and Fetch.
// Every process that must find the same values for a Release reads them by this.
func ReadFile(ctx context.Context, fetcher Fetcher, namespace string, source runtime.Object, ref corev1alpha1.ValuesReference, maxAge time.Duration, most int64) ([]byte, error) {
	if Suspended(source) {
		return nil, fmt.Errorf("%s %s is suspended", ref.Kind, ref.Name)
	}
	want := Want{Namespace: namespace, Source: source, MaxAge: maxAge}
	if ref.Kind == "GitRepository" {
		want.File = ref.Path
	}
	artifact, err := firstOf(ctx, fetcher, want, contents(ref))
	if err != nil {
		return nil, err
	}
	content, err := readFile(artifact.Root, path.Clean(ref.Path), most)
	if err != nil {
		return nil, fmt.Errorf("%s %s at %s: %w", ref.Kind, ref.Name, artifact.Revision, err)
	}
	return content, nil
}

func readFile(root fs.FS, name string, most int64) ([]byte, error) {
	info, err := fs.Stat(root, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fault.New(ErrLimit, "%s has %d bytes, more than the %d that a file of values may have", name, info.Size(), most)
	}
	return fs.ReadFile(root, name)
}

// Suspended tells whether nothing may be asked of a source of any of the three kinds.
func Suspended(source runtime.Object) bool {
	switch s := source.(type) {
	case *sourcev1alpha1.GitRepository:
		return s.Spec.Suspend
	case *sourcev1alpha1.HelmRegistry:
		return s.Spec.Suspend
	case *sourcev1alpha1.OCIRegistry:
		return s.Spec.Suspend
	}
	return false
}

// firstOf gives the content of the first candidate that the source has.
func firstOf(ctx context.Context, fetcher Fetcher, want Want, candidates []corev1alpha1.ReleaseSource) (*Artifact, error) {
	var absent error
	for _, content := range candidates {
		want.Content = content
		revision, _, err := fetcher.Resolve(ctx, want)
		if errors.Is(err, ErrNotFound) {
			absent = errors.Join(absent, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		return fetcher.Fetch(ctx, want, revision)
	}
	return nil, absent
}

// contents gives what a reference may mean, most likely first: a ref of a GitRepository is
// the name of a branch or of a tag; one of an OCIRegistry is a tag, or a repository and a
// tag joined by a colon.
func contents(ref corev1alpha1.ValuesReference) []corev1alpha1.ReleaseSource {
	if ref.Kind == "OCIRegistry" {
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
