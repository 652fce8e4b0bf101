// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// signedCharts are ways to serve a chart with a provenance file, or none when it is nil.
var signedCharts = map[string]func(t *testing.T, chart, provenance []byte) (url string){
	"index": func(t *testing.T, chart, provenance []byte) string {
		files := map[string][]byte{
			"index.yaml": []byte(fmt.Sprintf("entries:\n  web:\n  - {version: 1.0.0, urls: [web+1.tgz], digest: %s}\n", testsource.SHA256(chart))), "web+1.tgz": chart,
		}
		if provenance != nil {
			files["web+1.tgz.prov"] = provenance
		}
		return serveHelm(t, files).URL + "/charts"
	},
	"index without digests": func(t *testing.T, chart, provenance []byte) string {
		files := map[string][]byte{"index.yaml": []byte("entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz]}\n"), "web.tgz": chart}
		if provenance != nil {
			files["web.tgz.prov"] = provenance
		}
		return serveHelm(t, files).URL + "/charts"
	},
	"registry": func(t *testing.T, chart, provenance []byte) string {
		registry := testsource.ServeOCI(t, false)
		layers := []testsource.Layer{{MediaType: chartLayer, Content: chart}}
		if provenance != nil {
			layers = append([]testsource.Layer{{MediaType: provenanceLayer, Content: provenance}}, layers...)
		}
		registry.Push("web", layers, "1.0.0")
		return "oci://" + registry.Host()
	},
	"index of a registry": func(t *testing.T, chart, provenance []byte) string { return signedIndex(t, chart, provenance, 0) },
	"index of a registry, the second manifest signed": func(t *testing.T, chart, provenance []byte) string {
		return signedIndex(t, chart, provenance, 1)
	},
}

// signedIndex serves an index of two manifests with one archive, of which the first ones are not
// signed.
func signedIndex(t *testing.T, chart, provenance []byte, unsigned int) string {
	registry := testsource.ServeOCI(t, false)
	var list []map[string]any
	for i := range 2 {
		layers := []testsource.Layer{{MediaType: chartLayer, Content: chart}, {MediaType: "text/plain", Content: []byte(fmt.Sprint(i))}}
		if provenance != nil && i >= unsigned {
			layers = append(layers, testsource.Layer{MediaType: provenanceLayer, Content: provenance})
		}
		list = append(list, registry.Describe(registry.PushChart("web", layers)))
	}
	registry.Manifest("web", indexType, indexWith(t, list...), "1.0.0")
	return "oci://" + registry.Host()
}

func TestHelmProvenance(t *testing.T) {
	r := newRig(t, fetch.Options{})
	now := r.clock.Now()
	chart := testsource.Chart(t, "web", "1.0.0")
	key, other := testsource.NewOpenPGPKey(t, now.Add(-time.Hour), 0), testsource.NewOpenPGPKey(t, now.Add(-time.Hour), 0)
	good := key.ClearSign(now.Add(-time.Minute), testsource.ProvenanceOf("web", "1.0.0", chart))
	all := secrets{"keys": {"release.asc": key.Public()}, "empty": {"ca.crt": "x"}}
	for how, serve := range signedCharts {
		for _, tc := range []struct {
			name, secret string
			given        []byte
			provider     string
			want         error
			wantText     string
		}{
			{name: "signed", given: good},
			{name: "not signed", want: fetch.ErrVerification, wantText: "is not signed, and spec.verify demands it: there is no provenance file"},
			{name: "signed by another key", given: other.ClearSign(now, testsource.ProvenanceOf("web", "1.0.0", chart)), want: fetch.ErrVerification, wantText: "which the Secret team/keys does not hold"},
			{name: "signed as another archive", given: key.ClearSign(now, testsource.ProvenanceOf("web", "1.0.0", []byte("x"))), want: fetch.ErrVerification, wantText: "for another archive"},
			{name: "signed as another chart", given: key.ClearSign(now, testsource.ProvenanceOf("db", "1.0.0", chart)), want: fetch.ErrVerification, wantText: "for another chart: it names db-1.0.0.tgz, and not web-1.0.0"},
			{name: "nonsense", given: []byte("<html>"), want: fetch.ErrVerification, wantText: "cannot be read"},
			{name: "no keys", secret: "empty", given: good, want: fetch.ErrSecret, wantText: "holds no keys to trust"},
			{name: "no Secret", secret: "absent", given: good, want: fetch.ErrSecretNotFound},
			{name: "another provider", provider: "cosign", given: good, want: fetch.ErrInvalid, wantText: `"cosign" is not gpg`},
		} {
			t.Run(how+"/"+tc.name, func(t *testing.T) {
				g := NewWithT(t)
				r := newRig(t, fetch.Options{Secrets: all})
				demand := &sourcev1alpha1.HelmVerification{Provider: "gpg", SecretRef: sourcev1alpha1.SecretReference{Name: "keys"}}
				if tc.secret != "" {
					demand.SecretRef.Name = tc.secret
				}
				if tc.provider != "" {
					demand.Provider = tc.provider
				}
				want := insecureHelm(serve(t, chart, tc.given), "web", "1.0.0")
				unverified, err := r.get(t, want)
				g.Expect(err).NotTo(HaveOccurred())
				want.Source.(*sourcev1alpha1.HelmRegistry).Spec.Verify = demand
				// What is held for a source that demands nothing must not count.
				a, err := r.get(t, want)
				if tc.want == nil {
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(a.RootDigest).To(Equal(unverified.RootDigest))
					return
				}
				g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
			})
		}
	}
}

// TestHelmProvenanceThatComesLater is not held off for as long as unusable content.
func TestHelmProvenanceThatComesLater(t *testing.T) {
	g := NewWithT(t)
	r0 := newRig(t, fetch.Options{})
	key := testsource.NewOpenPGPKey(t, r0.clock.Now(), 0)
	r := newRig(t, fetch.Options{Secrets: secrets{"keys": {"a.asc": key.Public()}}})
	chart := testsource.Chart(t, "web", "1.0.0")
	h := serveHelm(t, map[string][]byte{
		"index.yaml": []byte(fmt.Sprintf("entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz], digest: %s}\n", testsource.SHA256(chart))), "web.tgz": chart,
		"web.tgz.prov": key.ClearSign(r.clock.Now(), testsource.ProvenanceOf("web", "1.0.0", []byte("x"))),
	})
	want := helmWant(h.URL+"/charts", "", "web", "1.0.0")
	want.Source.(*sourcev1alpha1.HelmRegistry).Spec.Verify = &sourcev1alpha1.HelmVerification{Provider: "gpg", SecretRef: sourcev1alpha1.SecretReference{Name: "keys"}}
	want.MaxAge = time.Hour
	_, err := r.get(t, want)
	g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
	h.set("web.tgz.prov", key.ClearSign(r.clock.Now(), testsource.ProvenanceOf("web", "1.0.0", chart)))
	r.clock.Step(15 * time.Second)
	_, err = r.get(t, want)
	g.Expect(err).NotTo(HaveOccurred())
}
