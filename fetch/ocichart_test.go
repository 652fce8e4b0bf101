// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

func insecureHelm(url, chart, version string) fetch.Want {
	want := helmWant(url, "", chart, version)
	want.Source.(*sourcev1alpha1.HelmRegistry).Spec.Insecure = true
	return want
}

func TestHelmInARegistry(t *testing.T) {
	registry := testsource.ServeOCI(t, false)
	digests := map[string]string{}
	for _, tag := range []string{"109.0.0_up1.0.0", "109.0.1_up1.0.2", "109.0.1_up1.0.10", "110.0.0-rc.1", "latest"} {
		digests[tag] = registry.Push("charts/web", []testsource.Layer{{MediaType: chartLayer, Content: testsource.Chart(t, "web", strings.ReplaceAll(tag, "_", "+"))}}, tag)
	}
	for _, tc := range []struct {
		name, given string
		want        string
		wantErr     error
	}{
		{name: "build", given: "109.0.1+up1.0.2", want: "109.0.1+up1.0.2@" + digests["109.0.1_up1.0.2"]},
		{name: "build as the tag has it", given: "109.0.1_up1.0.2", want: "109.0.1+up1.0.2@" + digests["109.0.1_up1.0.2"]},
		{name: "newest build", given: "109.0.1", want: "109.0.1+up1.0.10@" + digests["109.0.1_up1.0.10"]},
		{name: "range", given: "~109.0", want: "109.0.1+up1.0.10@" + digests["109.0.1_up1.0.10"]},
		{name: "newest", want: "109.0.1+up1.0.10@" + digests["109.0.1_up1.0.10"]},
		{name: "pre-release", given: "110.0.0-rc.1", want: "110.0.0-rc.1@" + digests["110.0.0-rc.1"]},
		{name: "missing", given: "111.0.0", wantErr: fetch.ErrNotFound},
		{name: "tag that is no version", given: "latest", wantErr: fetch.ErrInvalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			a, err := newRig(t, fetch.Options{}).get(t, insecureHelm("oci://"+registry.Host()+"/charts", "web", tc.given))
			if tc.wantErr != nil {
				g.Expect(errors.Is(err, tc.wantErr)).To(BeTrue(), "%v", err)
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(a.Revision).To(Equal(tc.want))
			g.Expect(read(a, "Chart.yaml")).To(ContainSubstring("name: web"))
		})
	}
}

// TestHelmVersionsAreIndependentOfTheListing has a registry list its tags in any order, a few
// at a time.
func TestHelmVersionsAreIndependentOfTheListing(t *testing.T) {
	registry := testsource.ServeOCI(t, false)
	tags := []string{"109.0.0_up1.0.0", "109.0.1_up1.0.10", "109.0.1_up1.0.2", "latest", "sha256-abc.sig"}
	digests := map[string]string{}
	for _, tag := range tags[:3] {
		digests[tag] = registry.Push("charts/web", []testsource.Layer{{MediaType: chartLayer, Content: testsource.Chart(t, "web", strings.ReplaceAll(tag, "_", "+"))}}, tag)
	}
	inner := registry.Config.Handler
	for name, order := range map[string][]int{"sorted": {0, 1, 2, 3, 4}, "backwards": {4, 3, 2, 1, 0}, "the newest first": {1, 3, 2, 4, 0}, "the newest between": {3, 2, 1, 0, 4}} {
		for _, size := range []int{1, 2, 5} {
			t.Run(fmt.Sprintf("%s, %d at a time", name, size), func(t *testing.T) {
				g := NewWithT(t)
				var listed []string
				for _, i := range order {
					listed = append(listed, tags[i])
				}
				registry.Reset()
				registry.Config.Handler = registry.Wrap(listing("/v2/charts/web/tags/list", listed, size, inner))
				r := newRig(t, fetch.Options{})
				for given, want := range map[string]string{
					"": "109.0.1+up1.0.10", "109.0.1": "109.0.1+up1.0.10", "~109.0": "109.0.1+up1.0.10", ">=109.0.0 <109.0.1": "109.0.0+up1.0.0",
					"109.0.1+up1.0.2": "109.0.1+up1.0.2", "109.0.1_up1.0.2": "109.0.1+up1.0.2",
				} {
					want += "@" + digests[strings.ReplaceAll(want, "+", "_")]
					wanted := insecureHelm("oci://"+registry.Host()+"/charts", "web", given)
					wanted.MaxAge = time.Hour
					g.Expect(r.get(t, wanted)).To(HaveField("Revision", want), given)
				}
				g.Expect(registry.Count("tags/list")).To(Equal((len(tags) + size - 1) / size))
				_, err := r.get(t, insecureHelm("oci://"+registry.Host()+"/charts", "web", "111.0.0"))
				g.Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(HaveSuffix("has no version 111.0.0; of 3, the nearest are 109.0.1+up1.0.10, 109.0.1+up1.0.2, 109.0.0+up1.0.0"))
			})
		}
	}
}

// listing lists tags at a path, so many at a time.
func listing(path string, tags []string, size int, inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			inner.ServeHTTP(w, r)
			return
		}
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		to := min(from+size, len(tags))
		if to < len(tags) {
			w.Header().Set("Link", fmt.Sprintf(`<%s?from=%d>; rel="next"`, path, to))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "charts/web", "tags": tags[from:to]})
	})
}

// TestHelmInARegistryUnderAnotherName tags a chart as what it is not.
func TestHelmInARegistryUnderAnotherName(t *testing.T) {
	registry := testsource.ServeOCI(t, false)
	push := func(repository, name, version string, tags ...string) string {
		return registry.Push(repository, []testsource.Layer{{MediaType: chartLayer, Content: testsource.Chart(t, name, version)}}, tags...)
	}
	right := push("charts/web", "web", "v1.2.3+up.1", "1.2.3_up.1", "v1.2.3_up.1", "1.2.3", "1.2.3_up.2", "2.0.0")
	push("charts/other", "web", "1.0.0", "1.0.0")
	for _, tc := range []struct {
		name, chart, version, pin string
		wantText                  string
	}{
		{name: "v is left out, the plus is an underscore", chart: "web", version: "1.2.3_up.1"},
		{name: "the same", chart: "web", version: "v1.2.3+up.1"},
		{name: "no build in the tag", chart: "web", version: "1.2.3"},
		{name: "pinned to a digest", chart: "web", pin: right},
		{name: "another build", chart: "web", version: "1.2.3+up.2", wantText: `published as the chart "web" of the version "1.2.3+up.2", the layer sha256:`},
		{name: "another version", chart: "web", version: "2.0.0", wantText: `holds the chart "web" of the version "v1.2.3+up.1"`},
		{name: "pinned to a version with another's digest", chart: "web", pin: "3.0.0@" + right, wantText: `"3.0.0"`},
		{name: "another name", chart: "other", version: "1.0.0", wantText: `published as the chart "other" of the version "1.0.0"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{})
			// That the same content is held for what it is must not make it right for others.
			_, err := r.get(t, insecureHelm("oci://"+registry.Host()+"/charts", "web", "v1.2.3+up.1"))
			g.Expect(err).NotTo(HaveOccurred())
			want := insecureHelm("oci://"+registry.Host()+"/charts", tc.chart, tc.version)
			want.Revision = tc.pin
			_, err = r.get(t, want)
			if tc.wantText == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
		})
	}
	t.Run("as an artifact it may be tagged and stored as anything", func(t *testing.T) {
		_, err := newRig(t, fetch.Options{}).get(t, ociWant("oci://"+registry.Host()+"/charts", "", artifactRef("web", corev1alpha1.OCIRef{Tag: "2.0.0"})))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	})
}

// TestHelmInARegistryOfOlderHelm has charts in layers of the media type that they had first.
func TestHelmInARegistryOfOlderHelm(t *testing.T) {
	const older = "application/tar+gzip"
	g := NewWithT(t)
	registry := testsource.ServeOCI(t, false)
	chart := testsource.Layer{MediaType: older, Content: testsource.Chart(t, "web", "1.0.0")}
	registry.PushChart("charts/web", []testsource.Layer{chart}, "1.0.0")
	a, err := newRig(t, fetch.Options{}).get(t, insecureHelm("oci://"+registry.Host()+"/charts", "web", "1.0.0"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "Chart.yaml")).To(ContainSubstring("name: web"))

	registry.PushChart("charts/web", []testsource.Layer{chart}, "2.0.0")
	_, err = newRig(t, fetch.Options{}).get(t, insecureHelm("oci://"+registry.Host()+"/charts", "web", "2.0.0"))
	g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "it is held to its version: %v", err)

	registry.PushChart("charts/web", []testsource.Layer{{MediaType: older, Content: []byte("other")}, {MediaType: chartLayer, Content: testsource.Chart(t, "web", "3.0.0")}}, "3.0.0")
	_, err = newRig(t, fetch.Options{}).get(t, insecureHelm("oci://"+registry.Host()+"/charts", "web", "3.0.0"))
	g.Expect(err).NotTo(HaveOccurred(), "the layer of the newer type is the chart")

	a, err = newRig(t, fetch.Options{}).get(t, ociWant("oci://"+registry.Host()+"/charts", "", artifactRef("web", corev1alpha1.OCIRef{Tag: "1.0.0"})))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "web/Chart.yaml")).To(ContainSubstring("name: web"), "to who wants no chart it is an archive")
}
