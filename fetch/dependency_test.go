// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// listener is a Fetcher that has everything, and tells what it was asked for.
type listener struct{ want fetch.Want }

func (l *listener) Resolve(_ context.Context, want fetch.Want) (string, time.Time, error) {
	l.want = want
	return "1@sha256:x", time.Time{}, nil
}

func (l *listener) Fetch(context.Context, fetch.Want, string) (*fetch.Artifact, error) {
	return &fetch.Artifact{}, nil
}

func helmRegistry(name, url string) *sourcev1alpha1.HelmRegistry {
	return &sourcev1alpha1.HelmRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: sourcev1alpha1.HelmRegistrySpec{URL: url}}
}

func ociRegistry(name, url string) *sourcev1alpha1.OCIRegistry {
	return &sourcev1alpha1.OCIRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: sourcev1alpha1.OCIRegistrySpec{URL: url}}
}

func TestRegistryOfADependency(t *testing.T) {
	suspended := helmRegistry("suspended", "https://suspended.test")
	suspended.Spec.Suspend = true
	registries := []runtime.Object{
		helmRegistry("b", "https://charts.test/a"), helmRegistry("a", "https://charts.test/a/"), helmRegistry("port", "http://plain.test:80"),
		helmRegistry("root", "oci://reg.test"), helmRegistry("charts", "oci://reg.test/charts"), ociRegistry("same", "oci://reg.test/charts"),
		ociRegistry("deeper", "oci://reg.test/charts/team"), helmRegistry("broken", "::"), suspended,
		&sourcev1alpha1.GitRepository{},
	}
	for _, tc := range []struct {
		repository string
		want       string
		wantErr    error
		wantText   string
	}{
		{repository: "https://charts.test/a", want: "HelmRegistry a db"},
		{repository: "https://CHARTS.test:443/a/", want: "HelmRegistry a db"},
		{repository: "http://plain.test", want: "HelmRegistry port db"},
		{repository: "@b", want: "HelmRegistry b db"},
		{repository: "alias:b", want: "HelmRegistry b db"},
		{repository: "oci://reg.test/charts", want: "HelmRegistry charts db"},
		{repository: "oci://reg.test/charts/other", want: "HelmRegistry charts other/db"},
		{repository: "oci://reg.test/charts/team/x", want: "OCIRegistry deeper x/db"},
		{repository: "oci://reg.test/chartsmith", want: "HelmRegistry root chartsmith/db"},
		{repository: "https://charts.test", wantErr: fetch.ErrNotFound, wantText: "the namespace team has no HelmRegistry with the url https://charts.test; create one, or add the chart to charts/"},
		{repository: "http://charts.test/a", wantErr: fetch.ErrNotFound, wantText: "http://charts.test/a"},
		{repository: "https://charts.test/a/b", wantErr: fetch.ErrNotFound, wantText: "https://charts.test/a/b"},
		{repository: "oci://other.test", wantErr: fetch.ErrNotFound, wantText: "no HelmRegistry or OCIRegistry with the url oci://other.test"},
		{repository: "@none", wantErr: fetch.ErrNotFound, wantText: `its repository is called "@none", and the namespace team has no HelmRegistry of that name`},
		{repository: "https://u:canary@charts.test/a", wantErr: fetch.ErrInvalid, wantText: "without credentials"},
		{repository: "git://charts.test/a", wantErr: fetch.ErrInvalid, wantText: "git://charts.test/a"},
		{repository: "https://suspended.test", wantErr: fetch.ErrInvalid, wantText: "HelmRegistry team/suspended is suspended"},
	} {
		t.Run(tc.repository, func(t *testing.T) {
			g := NewWithT(t)
			l := &listener{}
			_, err := fetch.ReadChart(t.Context(), l, "team", registries, fetch.Dependency{Repository: tc.repository, Name: "db", Version: "^1"}, time.Minute)
			if tc.wantErr != nil {
				g.Expect(errors.Is(err, tc.wantErr)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary"))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(l.want.MaxAge).To(Equal(time.Minute))
			got := ""
			if h := l.want.Content.Helm; h != nil {
				g.Expect(h.Version).To(Equal("^1"))
				got = "HelmRegistry " + h.RegistryRef.Name + " " + h.Chart
			} else {
				g.Expect(l.want.Content.OCI.Ref.Semver).To(Equal("^1"))
				got = "OCIRegistry " + l.want.Content.OCI.RegistryRef.Name + " " + l.want.Content.OCI.Repository
			}
			g.Expect(got).To(Equal(tc.want))
		})
	}
}

func TestReadChart(t *testing.T) {
	chart := testsource.Chart(t, "db", "1.2.0")
	two, ten := testsource.Chart(t, "builds", "1.2.0+up1.0.2"), testsource.Chart(t, "builds", "1.2.0+up1.0.10")
	h := serveHelm(t, map[string][]byte{
		"index.yaml": []byte(fmt.Sprintf("entries:\n  db:\n  - {version: 1.2.0, urls: [db.tgz], digest: %s}\n  builds:\n  - {version: 1.2.0+up1.0.2, urls: [2.tgz]}\n  - {version: 1.2.0+up1.0.10, urls: [10.tgz]}\n", testsource.SHA256(chart))),
		"db.tgz":     chart, "2.tgz": two, "10.tgz": ten,
	})
	registry := testsource.ServeOCI(t, false)
	registry.Push("charts/builds", []testsource.Layer{{MediaType: chartLayer, Content: two}}, "1.2.0_up1.0.2")
	registry.Push("charts/builds", []testsource.Layer{{MediaType: chartLayer, Content: ten}}, "1.2.0_up1.0.10")
	registry.Push("charts/db", []testsource.Layer{{MediaType: chartLayer, Content: chart}}, "1.2.0")
	inOCI := ociRegistry("o", "oci://"+registry.Host())
	inOCI.Spec.Insecure = true
	registries := []runtime.Object{helmRegistry("h", h.URL+"/charts"), inOCI}
	for _, repository := range []string{h.URL + "/charts", "oci://" + registry.Host() + "/charts"} {
		t.Run(repository, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{})
			for range 3 {
				a, err := fetch.ReadChart(t.Context(), r, "team", registries, fetch.Dependency{Repository: repository, Name: "db", Version: "^1"}, time.Hour)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(a.Revision).To(HavePrefix("1.2.0@sha256:"))
				g.Expect(read(a, "Chart.yaml")).To(ContainSubstring("name: db"))
			}
			g.Expect(r.Stats().Fetches).To(Equal(int64(1)))
			for version, want := range map[string]string{"1.2.0+up1.0.2": "1.2.0+up1.0.2@", "~1.2.0": "1.2.0+up1.0.10@"} {
				a, err := fetch.ReadChart(t.Context(), r, "team", registries, fetch.Dependency{Repository: repository, Name: "builds", Version: version}, time.Hour)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(a.Revision).To(HavePrefix(want), "of %s", version)
			}
			_, err := fetch.ReadChart(t.Context(), r, "team", registries, fetch.Dependency{Repository: repository, Name: "db", Version: "^2"}, time.Hour)
			g.Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
		})
	}
}
