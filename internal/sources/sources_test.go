// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	sourcelisters "kumodo.io/convoy/client/listers/source/v1alpha1"
)

func named(name string) corev1alpha1.LocalReference { return corev1alpha1.LocalReference{Name: name} }

func TestReferenceOf(t *testing.T) {
	for _, tc := range []struct {
		given corev1alpha1.ReleaseSource
		want  string
		ok    bool
	}{
		{corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{RepositoryRef: named("a")}}, "GitRepository a", true},
		{corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{RegistryRef: named("b")}}, "HelmRegistry b", true},
		{corev1alpha1.ReleaseSource{OCI: &corev1alpha1.OCISource{RegistryRef: named("c")}}, "OCIRegistry c", true},
		{corev1alpha1.ReleaseSource{}, " ", false},
	} {
		g := NewWithT(t)
		reference, ok := ReferenceOf(tc.given)
		g.Expect(reference.String()).To(Equal(tc.want))
		g.Expect(ok).To(Equal(tc.ok))
	}
}

// full has one object of each kind in each of two namespaces.
func full(g *WithT) Lookup {
	git, helm, oci := indexer(), indexer(), indexer()
	for _, namespace := range []string{"team", "others"} {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: "of-" + namespace}
		g.Expect(git.Add(&sourcev1alpha1.GitRepository{ObjectMeta: meta})).To(Succeed())
		g.Expect(helm.Add(&sourcev1alpha1.HelmRegistry{ObjectMeta: meta})).To(Succeed())
		g.Expect(oci.Add(&sourcev1alpha1.OCIRegistry{ObjectMeta: meta})).To(Succeed())
	}
	return Lookup{
		GitRepositories: sourcelisters.NewGitRepositoryLister(git),
		HelmRegistries:  sourcelisters.NewHelmRegistryLister(helm),
		OCIRegistries:   sourcelisters.NewOCIRegistryLister(oci),
	}
}

func indexer() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

func TestFind(t *testing.T) {
	for _, kind := range []string{KindGitRepository, KindHelmRegistry, KindOCIRegistry} {
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			lookup := full(g)
			found, err := lookup.Find("team", Reference{Kind: kind, Name: "of-team"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.GetNamespace()).To(Equal("team"))
			found, err = lookup.Find("team", Reference{Kind: kind, Name: "of-others"})
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
			g.Expect(found == nil).To(BeTrue(), "no pointer to nothing")
		})
	}
	_, err := full(NewWithT(t)).Find("team", Reference{Kind: "ConfigMap", Name: "a"})
	NewWithT(t).Expect(err).To(MatchError("ConfigMap is no kind of source"))
}

func TestRegistriesAreThoseOfTheNamespace(t *testing.T) {
	g := NewWithT(t)
	found, err := full(g).Registries("team")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(ConsistOf(
		&sourcev1alpha1.HelmRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "of-team"}},
		&sourcev1alpha1.OCIRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "of-team"}},
	))
}
