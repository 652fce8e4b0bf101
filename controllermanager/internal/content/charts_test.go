// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	sourcelisters "kumodo.io/convoy/client/listers/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
)

// charts has every chart, in the version that the range is.
type charts struct{ wants []fetch.Want }

func (c *charts) Resolve(_ context.Context, want fetch.Want) (string, time.Time, error) {
	c.wants = append(c.wants, want)
	return "1.2.0@sha256:x", time.Time{}, nil
}

func (c *charts) Fetch(_ context.Context, _ fetch.Want, revision string) (*fetch.Artifact, error) {
	return &fetch.Artifact{Revision: revision, Path: ".", RootDigest: "digest"}, nil
}

func TestChartsComeFromTheNamespaceOfTheRelease(t *testing.T) {
	g := NewWithT(t)
	helm, oci := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, namespace := range []string{"team", "others"} {
		g.Expect(helm.Add(&sourcev1alpha1.HelmRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "h"}, Spec: sourcev1alpha1.HelmRegistrySpec{URL: "https://" + namespace + ".test"}})).To(Succeed())
		g.Expect(oci.Add(&sourcev1alpha1.OCIRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "o"}, Spec: sourcev1alpha1.OCIRegistrySpec{URL: "oci://" + namespace + ".test"}})).To(Succeed())
	}
	fetcher := &charts{}
	references := References{Fetcher: fetcher, MaxAge: time.Minute,
		Lookup: sources.Lookup{HelmRegistries: sourcelisters.NewHelmRegistryLister(helm), OCIRegistries: sourcelisters.NewOCIRegistryLister(oci)}}
	for _, repository := range []string{"https://team.test", "oci://team.test/charts"} {
		artifact, err := references.Chart(t.Context(), "team", render.Dependency{Repository: repository, Name: "db", Version: "^1"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(artifact).To(Equal(render.Artifact{Revision: "1.2.0@sha256:x", Path: ".", RootDigest: "digest"}))
	}
	g.Expect(fetcher.wants).To(HaveEach(And(HaveField("Namespace", "team"), HaveField("MaxAge", time.Minute))))
	for _, repository := range []string{"https://others.test", "oci://others.test/charts"} {
		_, err := references.Chart(t.Context(), "team", render.Dependency{Repository: repository, Name: "db", Version: "^1"})
		g.Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring("the namespace team has no"))
	}
}
