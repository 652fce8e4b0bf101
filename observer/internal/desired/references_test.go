// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	sourcelisters "kumodo.io/convoy/client/listers/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
)

func TestChartsComeFromTheNamespaceOfTheRelease(t *testing.T) {
	g := NewWithT(t)
	indexer := func() cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	helm := indexer()
	for _, namespace := range []string{"ns", "others"} {
		g.Expect(helm.Add(&sourcev1alpha1.HelmRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "h"}, Spec: sourcev1alpha1.HelmRegistrySpec{URL: "https://" + namespace + ".test"}})).To(Succeed())
	}
	fetcher := &content{revisions: map[string]fstest.MapFS{"1.0.0@sha256:x": {}}, head: "1.0.0@sha256:x"}
	references := References{Fetch: fetcher, Sources: sources.Lookup{HelmRegistries: sourcelisters.NewHelmRegistryLister(helm), OCIRegistries: sourcelisters.NewOCIRegistryLister(indexer())}}
	artifact, err := references.Chart(t.Context(), "ns", render.Dependency{Repository: "https://ns.test", Name: "db", Version: "^1"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(artifact.RootDigest).To(Equal("1.0.0@sha256:x"))
	g.Expect(fetcher.wants).To(ConsistOf(And(HaveField("Namespace", "ns"), HaveField("MaxAge", previewAge))))
	_, err = references.Chart(t.Context(), "ns", render.Dependency{Repository: "https://others.test", Name: "db", Version: "^1"})
	g.Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
}
