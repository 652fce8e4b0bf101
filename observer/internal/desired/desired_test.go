// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"
	"gocloud.dev/blob/memblob"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	sourcelisters "kumodo.io/convoy/client/listers/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// content is a source in memory: its revisions and their files. The moving reference is at
// the revision "head".
type content struct {
	revisions map[string]fstest.MapFS
	head      string
	// branches that a values reference may name; others are not found.
	branches []string
	fetched  int
	wants    []fetch.Want
}

func (c *content) Resolve(_ context.Context, want fetch.Want) (string, time.Time, error) {
	c.wants = append(c.wants, want)
	if want.Revision != "" {
		return want.Revision, time.Time{}, nil
	}
	if git := want.Content.Git; git != nil && git.Ref.Branch != "" {
		for _, branch := range c.branches {
			if branch == git.Ref.Branch {
				return c.head, time.Time{}, nil
			}
		}
		return "", time.Time{}, fetch.ErrNotFound
	}
	return c.head, time.Time{}, nil
}

func (c *content) Fetch(_ context.Context, _ fetch.Want, revision string) (*fetch.Artifact, error) {
	c.fetched++
	root, ok := c.revisions[revision]
	if !ok {
		return nil, fetch.ErrNotFound
	}
	return &fetch.Artifact{Revision: revision, Root: root, Path: ".", Digest: revision, RootDigest: revision}, nil
}

// cluster serves what the tests render.
type cluster struct{}

func (cluster) Capabilities(context.Context) (string, []string, error) {
	return "v1.37.2", []string{"v1"}, nil
}
func (cluster) Namespaced(context.Context, schema.GroupVersionKind) (bool, error) { return true, nil }

func manifest(value string) fstest.MapFS {
	return fstest.MapFS{"cm.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {v: '" + value + "'}\n")}}
}

// chart tells installations and upgrades apart.
func chart(value string) fstest.MapFS {
	return fstest.MapFS{
		"Chart.yaml": {Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n")},
		"templates/cm.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {v: '" + value +
			"', upgrade: '{{ .Release.IsUpgrade }}'}\n")},
	}
}

type bench struct {
	*WithT
	*Resolver
	content *content
	git     cache.Indexer
	release *corev1alpha1.Release
}

func newBench(t *testing.T, revisions map[string]fstest.MapFS) *bench {
	indexer := func() cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	b := &bench{WithT: NewWithT(t), content: &content{revisions: revisions, head: "main@sha1:2"}, git: indexer()}
	b.Expect(b.git.Add(&sourcev1alpha1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "repo"}})).To(Succeed())
	lookup := sources.Lookup{
		GitRepositories: sourcelisters.NewGitRepositoryLister(b.git),
		HelmRegistries:  sourcelisters.NewHelmRegistryLister(indexer()),
		OCIRegistries:   sourcelisters.NewOCIRegistryLister(indexer()),
	}
	b.Resolver = &Resolver{Sources: lookup, Fetch: b.content, Renderer: render.New(render.Options{}), References: References{Fetch: b.content, Sources: lookup}}
	b.release = &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app"},
		Spec: corev1alpha1.ReleaseSpec{Source: corev1alpha1.ReleaseSource{
			Git: &corev1alpha1.GitSource{RepositoryRef: corev1alpha1.LocalReference{Name: "repo"}},
		}},
	}
	return b
}

// apply has the Release applied at a revision, as the controller-manager renders it.
func (b *bench) apply(t *testing.T, revision string) *Desired {
	made, err := b.At(t.Context(), b.release, cluster{}, revision)
	b.Expect(err).NotTo(HaveOccurred())
	b.release.Status.Applied = &corev1alpha1.AppliedStatus{Revision: revision, Render: made.Digest}
	b.release.Status.History = append([]corev1alpha1.HistoryEntry{{
		ID: int64(len(b.release.Status.History) + 1), Revision: revision, Render: made.Digest, Outcome: corev1alpha1.OutcomeHealthy,
	}}, b.release.Status.History...)
	return made
}

func (b *bench) useStore(t *testing.T, renders ...*Desired) {
	opened := store.New(store.Place{Bucket: memblob.OpenBucket(nil), Name: "mem://"}, store.Options{})
	for _, one := range renders {
		b.Expect(opened.Put(t.Context(), store.Record{Namespace: "ns", Name: "app", Revision: one.Revision, Result: one.Result})).To(Succeed())
	}
	b.Store = opened
}

func TestAppliedIsMadeAgainOnce(t *testing.T) {
	b := newBench(t, map[string]fstest.MapFS{"main@sha1:1": manifest("1"), "main@sha1:2": manifest("2")})
	want := b.apply(t, "main@sha1:1")
	before := b.content.fetched
	for range 3 {
		got, err := b.Applied(t.Context(), b.release, cluster{})
		b.Expect(err).NotTo(HaveOccurred())
		b.Expect(got.Digest).To(Equal(want.Digest))
		b.Expect(got.Revision).To(Equal("main@sha1:1"))
	}
	b.Expect(b.content.fetched - before).To(Equal(1))

	other := b.release.DeepCopy()
	other.Name = "other"
	_, err := b.Stored(t.Context(), other, want.Digest)
	b.Expect(err).To(MatchError(ErrNotReproducible), "what one Release may see is not another's")
}

func TestAppliedOfAnInstallation(t *testing.T) {
	b := newBench(t, map[string]fstest.MapFS{"main@sha1:1": chart("1"), "main@sha1:2": chart("2")})
	installed := b.apply(t, "main@sha1:1")
	b.Expect(installed.Objects[0].Object.Object["data"]).To(HaveKeyWithValue("upgrade", "false"))

	got, err := b.Applied(t.Context(), b.release, cluster{})
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(got.Digest).To(Equal(installed.Digest))
	b.content.head = "main@sha1:1"
	got, err = b.Current(t.Context(), b.release, cluster{})
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(got.Digest).To(Equal(installed.Digest), "an installation is not followed by an upgrade to itself")

	upgraded := b.apply(t, "main@sha1:2")
	b.Expect(upgraded.Objects[0].Object.Object["data"]).To(HaveKeyWithValue("upgrade", "true"))
	got, err = b.Past(t.Context(), b.release, cluster{}, "main@sha1:1", installed.Digest)
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(got.Digest).To(Equal(installed.Digest))
}

func TestAppliedThatCannotBeMadeAgain(t *testing.T) {
	b := newBench(t, map[string]fstest.MapFS{"main@sha1:1": manifest("1")})
	_, err := b.Applied(t.Context(), b.release, cluster{})
	b.Expect(err).To(MatchError(ContainSubstring("nothing has been applied")))

	b.release.Status.Applied = &corev1alpha1.AppliedStatus{Revision: "main@sha1:1", Render: "sha256:other"}
	_, err = b.Applied(t.Context(), b.release, cluster{})
	b.Expect(err).To(MatchError(ErrNotReproducible))

	b.release.Status.Applied.Revision = "main@sha1:0"
	_, err = b.Applied(t.Context(), b.release, cluster{})
	b.Expect(err).To(MatchError(fetch.ErrNotFound))
}

func TestStoredRendersNeedNoSource(t *testing.T) {
	b := newBench(t, map[string]fstest.MapFS{"main@sha1:1": manifest("1"), "main@sha1:2": manifest("2")})
	want := b.apply(t, "main@sha1:1")
	b.useStore(t, want)
	b.Expect(b.git.Replace(nil, "")).To(Succeed())
	got, err := b.Applied(t.Context(), b.release, cluster{})
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(got.Digest).To(Equal(want.Digest))
	b.Expect(got.Objects[0].Digest).To(Equal(want.Objects[0].Digest), "the inventory compares digests of objects")

	_, err = b.Current(t.Context(), b.release, cluster{})
	b.Expect(err).To(MatchError(ErrSource))
}

func TestWhatIsNotInTheStoreIsMadeAgain(t *testing.T) {
	b := newBench(t, map[string]fstest.MapFS{"main@sha1:1": manifest("1")})
	want := b.apply(t, "main@sha1:1")
	b.useStore(t)
	got, err := b.Applied(t.Context(), b.release, cluster{})
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(got.Digest).To(Equal(want.Digest))
}

func TestCurrent(t *testing.T) {
	for _, test := range []struct {
		name string
		pin  func(b *bench, old *Desired) *corev1alpha1.Pin
		want string
	}{
		{"the moving reference", func(*bench, *Desired) *corev1alpha1.Pin { return nil }, "2"},
		{"a pinned revision", func(*bench, *Desired) *corev1alpha1.Pin { return &corev1alpha1.Pin{Revision: "main@sha1:1"} }, "1"},
		{"a pinned render", func(_ *bench, old *Desired) *corev1alpha1.Pin { return &corev1alpha1.Pin{Render: old.Digest} }, "1"},
		{"a pinned history id", func(*bench, *Desired) *corev1alpha1.Pin { return &corev1alpha1.Pin{Render: "1"} }, "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, map[string]fstest.MapFS{"main@sha1:1": manifest("1"), "main@sha1:2": manifest("2")})
			old := b.apply(t, "main@sha1:1")
			b.useStore(t, old)
			b.release.Spec.Pin = test.pin(b, old)
			got, err := b.Current(t.Context(), b.release, cluster{})
			b.Expect(err).NotTo(HaveOccurred())
			b.Expect(got.Objects[0].Object.Object["data"]).To(HaveKeyWithValue("v", test.want))
		})
	}
}

func TestRendersThatDifferEachTime(t *testing.T) {
	random := func() fstest.MapFS {
		c := chart("1")
		c["templates/cm.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {v: '{{ randAlphaNum 20 }}'}\n")}
		return c
	}
	b := newBench(t, map[string]fstest.MapFS{"main@sha1:2": random()})
	first := b.apply(t, "main@sha1:2")
	b.Expect(first.NonDeterministic).NotTo(BeEmpty())
	b.useStore(t, first)
	b.release.Status.Render = &corev1alpha1.RenderStatus{Digest: first.Digest, Inputs: first.Inputs}
	b.Renderer = render.New(render.Options{}) // as in another process

	upgraded, err := render.AsNeeded(t.Context(), b.Renderer, render.Input{
		Release: b.release, Cluster: cluster{}, Artifact: render.Artifact{Root: b.content.revisions["main@sha1:2"], Path: ".", Digest: "main@sha1:2"},
	})
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(upgraded.Digest).NotTo(Equal(first.Digest))
	b.release.Status.Render.Inputs = upgraded.Inputs

	got, err := b.Current(t.Context(), b.release, cluster{})
	b.Expect(err).NotTo(HaveOccurred())
	b.Expect(got.Digest).To(Equal(first.Digest), "the first one counts as long as the inputs are the same")

	b.Forget(types.NamespacedName{Namespace: "ns", Name: "app"})
	b.Store = store.New(store.Place{Bucket: memblob.OpenBucket(nil), Name: "mem://"}, store.Options{})
	b.Expect(b.Store.Close()).To(Succeed())
	_, err = b.Current(t.Context(), b.release, cluster{})
	b.Expect(err).To(MatchError(store.ErrUnavailable), "nobody is shown passwords that no sync would apply")
}

// What is kept takes a bounded amount of memory, however large renders are.
func TestWhatIsKeptIsWeighed(t *testing.T) {
	b := newBench(t, map[string]fstest.MapFS{"main@sha1:1": manifest("1"), "main@sha1:2": manifest(strings.Repeat("2", 1<<20)), "main@sha1:3": manifest("3")})
	fetches := func(digest, revision string) int {
		before := b.content.fetched
		_, err := b.Past(t.Context(), b.release, cluster{}, revision, digest)
		b.Expect(err).NotTo(HaveOccurred())
		return b.content.fetched - before
	}
	small, large, another := b.apply(t, "main@sha1:1").Digest, b.apply(t, "main@sha1:2").Digest, b.apply(t, "main@sha1:3").Digest
	b.cache()
	b.known = remembering(rememberedRenders, 1<<19)
	for range 2 {
		fetches(small, "main@sha1:1")
		b.Expect(fetches(large, "main@sha1:2")).To(Equal(1), "it is too large to be kept")
		fetches(another, "main@sha1:3")
	}
	b.Expect(fetches(small, "main@sha1:1")).To(BeZero())
	b.Expect(fetches(another, "main@sha1:3")).To(BeZero())
}

func TestForget(t *testing.T) {
	b := newBench(t, map[string]fstest.MapFS{"main@sha1:1": manifest("1")})
	made := b.apply(t, "main@sha1:1")
	other := b.release.DeepCopy()
	other.Name = "other"
	for _, release := range []*corev1alpha1.Release{b.release, other} {
		_, err := b.Past(t.Context(), release, cluster{}, "main@sha1:1", made.Digest)
		b.Expect(err).NotTo(HaveOccurred())
	}
	b.Forget(types.NamespacedName{Namespace: "ns", Name: "app"})
	_, err := b.Stored(t.Context(), b.release, made.Digest)
	b.Expect(err).To(MatchError(ErrNotReproducible))
	_, err = b.Stored(t.Context(), other, made.Digest)
	b.Expect(err).NotTo(HaveOccurred(), "what is another Release's stays")
}

func TestSources(t *testing.T) {
	for _, test := range []struct {
		name   string
		do     func(b *bench)
		absent bool
	}{
		{"an absent one", func(b *bench) { b.Expect(b.git.Replace(nil, "")).To(Succeed()) }, true},
		{"a suspended one", func(b *bench) {
			b.Expect(b.git.Update(&sourcev1alpha1.GitRepository{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "repo"}, Spec: sourcev1alpha1.GitRepositorySpec{Suspend: true},
			})).To(Succeed())
		}, false},
		{"none", func(b *bench) { b.release.Spec.Source = corev1alpha1.ReleaseSource{} }, false},
		{"an absent HelmRegistry", func(b *bench) { b.release.Spec.Source = corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{}} }, true},
		{"an absent OCIRegistry", func(b *bench) { b.release.Spec.Source = corev1alpha1.ReleaseSource{OCI: &corev1alpha1.OCISource{}} }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, map[string]fstest.MapFS{"main@sha1:2": manifest("1")})
			test.do(b)
			_, err := b.Current(t.Context(), b.release, cluster{})
			b.Expect(err).To(MatchError(ErrSource))
			b.Expect(apierrors.IsNotFound(err)).To(Equal(test.absent))
			b.Expect(b.content.wants).To(BeEmpty(), "nothing is asked of it")
		})
	}
}

func TestValuesFromFiles(t *testing.T) {
	for _, test := range []struct {
		name string
		ref  corev1alpha1.ValuesReference
		want string
		err  func(error) bool
	}{
		{"at the default branch", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "repo", Path: "./env/v.yaml"}, "a: 1", nil},
		{"at a branch", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "repo", Ref: "prod", Path: "env/v.yaml"}, "a: 1", nil},
		{"at a tag", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "repo", Ref: "v1", Path: "env/v.yaml"}, "a: 1", nil},
		{"a file that is not there", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "repo", Path: "x"}, "", func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{"a source that is not there", corev1alpha1.ValuesReference{Kind: "GitRepository", Name: "gone", Path: "x", Optional: true}, "", apierrors.IsNotFound},
		{"a registry that is not there", corev1alpha1.ValuesReference{Kind: "OCIRegistry", Name: "gone", Path: "x"}, "", apierrors.IsNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, map[string]fstest.MapFS{"main@sha1:2": {"env/v.yaml": {Data: []byte("a: 1")}}})
			b.content.branches = []string{"prod"}
			data, err := b.References.File(t.Context(), "ns", test.ref)
			if test.err != nil {
				b.Expect(test.err(err)).To(BeTrue(), "%v", err)
				return
			}
			b.Expect(err).NotTo(HaveOccurred())
			b.Expect(string(data)).To(Equal(test.want))
		})
	}
}
