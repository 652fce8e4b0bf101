// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	sourcelisters "kumodo.io/convoy/client/listers/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
)

func TestReason(t *testing.T) {
	tests := []struct {
		name  string
		given error
		want  string
	}{
		{"an absent Secret", fmt.Errorf("%w: %w", fetch.ErrSecret, fetch.ErrSecretNotFound), corev1alpha1.ReasonSecretNotFound},
		{"an unusable Secret", fetch.ErrSecret, corev1alpha1.ReasonSecretInvalid},
		{"refused", fetch.ErrUnauthorized, corev1alpha1.ReasonAuthenticationFailed},
		{"not signed as demanded", errors.Join(fetch.ErrVerification, fetch.ErrContent), corev1alpha1.ReasonVerificationFailed},
		{"misconfigured", fetch.ErrInvalid, corev1alpha1.ReasonInvalidConfiguration},
		{"no such revision", fetch.ErrNotFound, corev1alpha1.ReasonRevisionNotFound},
		{"no answer", fmt.Errorf("git: %w", fetch.ErrUnreachable), corev1alpha1.ReasonUnreachable},
		{"unusable content", fetch.ErrContent, corev1alpha1.ReasonFetchFailed},
		{"too much", fetch.ErrLimit, corev1alpha1.ReasonFetchFailed},
		{"unknown", errors.New("odd"), corev1alpha1.ReasonFetchFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { NewWithT(t).Expect(Reason(tt.given)).To(Equal(tt.want)) })
	}
}

// repository has tags or branches with files.
type repository map[string]fstest.MapFS

func (r repository) Resolve(_ context.Context, want fetch.Want) (string, time.Time, error) {
	name := "main"
	if git := want.Content.Git; git != nil {
		switch {
		case git.Ref.Branch != "":
			name = "branch " + git.Ref.Branch
		case git.Ref.Tag != "":
			name = "tag " + git.Ref.Tag
		}
	}
	if oci := want.Content.OCI; oci != nil {
		name = oci.Repository + " " + oci.Ref.Tag
	}
	if _, ok := r[name]; !ok {
		return "", time.Time{}, fmt.Errorf("%s: %w", name, fetch.ErrNotFound)
	}
	return name, time.Time{}, nil
}

func (r repository) Fetch(_ context.Context, _ fetch.Want, revision string) (*fetch.Artifact, error) {
	return &fetch.Artifact{Revision: revision, Root: r[revision], Path: "."}, nil
}

func lookup(g *WithT, objects ...sources.Object) sources.Lookup {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	registries := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, object := range objects {
		if _, ok := object.(*sourcev1alpha1.OCIRegistry); ok {
			g.Expect(registries.Add(object)).To(Succeed())
			continue
		}
		g.Expect(indexer.Add(object)).To(Succeed())
	}
	return sources.Lookup{GitRepositories: sourcelisters.NewGitRepositoryLister(indexer), OCIRegistries: sourcelisters.NewOCIRegistryLister(registries)}
}

func TestFile(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "team", Name: name} }
	content := repository{
		"main":          {"values.yaml": {Data: []byte("main")}},
		"branch stable": {"env/values.yaml": {Data: []byte("stable")}},
		"tag v1":        {"values.yaml": {Data: []byte("v1")}},
		"team/values 2": {"values.yaml": {Data: []byte("oci")}},
	}
	tests := []struct {
		name    string
		given   corev1alpha1.ValuesReference
		want    string
		wantErr func(error) bool
	}{
		{"the default branch", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "values", Path: "values.yaml"}, "main", nil},
		{"a branch", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "values", Ref: "stable", Path: "./env/values.yaml"}, "stable", nil},
		{"a tag", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "values", Ref: "v1", Path: "values.yaml"}, "v1", nil},
		{"a repository of a registry", corev1alpha1.ValuesReference{Kind: "OCIRegistry", Name: "registry", Ref: "team/values:2", Path: "values.yaml"}, "oci", nil},
		{"no such ref", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "values", Ref: "none", Path: "values.yaml"}, "",
			func(err error) bool { return errors.Is(err, fetch.ErrNotFound) }},
		{"no such file", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "values", Path: "none.yaml"}, "",
			func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{"no such repository", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "none", Path: "values.yaml"}, "", apierrors.IsNotFound},
		{"a suspended repository", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "suspended", Path: "values.yaml"}, "",
			func(err error) bool { return err != nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			references := References{Fetcher: content, Lookup: lookup(g,
				&sourcev1alpha1.GitRepository{ObjectMeta: meta("values")},
				&sourcev1alpha1.GitRepository{ObjectMeta: meta("suspended"), Spec: sourcev1alpha1.GitRepositorySpec{Suspend: true}},
				&sourcev1alpha1.OCIRegistry{ObjectMeta: meta("registry")},
			)}
			file, err := references.File(context.Background(), "team", tt.given)
			if tt.wantErr != nil {
				g.Expect(tt.wantErr(err)).To(BeTrue(), "%v", err)
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(file)).To(Equal(tt.want))
		})
	}
}
