// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"archive/tar"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

const (
	chartLayer      = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	provenanceLayer = "application/vnd.cncf.helm.chart.provenance.v1.prov"
	contentLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

func artifactRef(repository string, ref corev1alpha1.OCIRef) corev1alpha1.OCISource {
	return corev1alpha1.OCISource{Repository: repository, Ref: ref}
}

func TestOCI(t *testing.T) {
	registry := testsource.ServeOCI(t, false)
	layer := func(text string) []testsource.Layer {
		return []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"deploy/a.yaml": text, "b.yaml": "b"})}}
	}
	one := registry.Push("team/app", layer("one"), "1.0.0", "v1.1.0-rc.1")
	two := registry.Push("team/app", layer("two"), "1.1.0", "latest", "1.1.0_build.2")
	registry.Manifest("team/app", "application/vnd.oci.image.index.v1+json", indexOf(t, one, two), "both")
	registry.Manifest("team/app", "application/vnd.oci.image.index.v1+json", indexOf(t, one), "single")
	for _, tc := range []struct {
		name     string
		given    corev1alpha1.OCISource
		pin      string
		want     string
		content  string
		wantErr  error
		wantText string
	}{
		{name: "latest", given: artifactRef("app", corev1alpha1.OCIRef{}), want: "latest@" + two, content: "two"},
		{name: "tag", given: artifactRef("app", corev1alpha1.OCIRef{Tag: "1.0.0"}), want: "1.0.0@" + one, content: "one"},
		{name: "range", given: artifactRef("app", corev1alpha1.OCIRef{Semver: "~1.0"}), want: "1.0.0@" + one, content: "one"},
		{name: "range with builds", given: artifactRef("app", corev1alpha1.OCIRef{Semver: ">=1"}), want: "1.1.0+build.2@" + two, content: "two"},
		{name: "range with pre-releases", given: artifactRef("app", corev1alpha1.OCIRef{Semver: ">=1-0 <1.1.0"}), want: "v1.1.0-rc.1@" + one, content: "one"},
		{name: "digest", given: artifactRef("app", corev1alpha1.OCIRef{Digest: one}), want: one, content: "one"},
		{name: "pinned", given: artifactRef("app", corev1alpha1.OCIRef{Tag: "latest"}), pin: "1.0.0@" + one, want: "1.0.0@" + one, content: "one"},
		{name: "pinned to a digest", given: artifactRef("app", corev1alpha1.OCIRef{Tag: "latest"}), pin: one, want: one, content: "one"},
		{name: "pinned to a tag", given: artifactRef("app", corev1alpha1.OCIRef{Tag: "latest"}), pin: "1.0.0", want: "1.0.0@" + one, content: "one"},
		{name: "index of one", given: artifactRef("app", corev1alpha1.OCIRef{Tag: "single"}), content: "one"},
		{name: "index of many", given: artifactRef("app", corev1alpha1.OCIRef{Tag: "both"}), wantErr: fetch.ErrContent, wantText: "is an index of which 2 manifests may be meant: " + one + ", " + two},
		{name: "missing tag", given: artifactRef("app", corev1alpha1.OCIRef{Tag: "nope"}), wantErr: fetch.ErrNotFound, wantText: "team/app:nope"},
		{name: "missing repository", given: artifactRef("nope", corev1alpha1.OCIRef{Semver: "1"}), wantErr: fetch.ErrNotFound, wantText: "team/nope"},
		{name: "missing digest", given: artifactRef("app", corev1alpha1.OCIRef{Digest: "sha256:" + strings.Repeat("a", 64)}), wantErr: fetch.ErrNotFound},
		{name: "no digest", given: artifactRef("app", corev1alpha1.OCIRef{Digest: "sha256:abc"}), wantErr: fetch.ErrInvalid},
		{name: "no tag", given: artifactRef("app", corev1alpha1.OCIRef{Tag: "a/b"}), wantErr: fetch.ErrInvalid},
		{name: "no repository name", given: artifactRef("../App", corev1alpha1.OCIRef{}), wantErr: fetch.ErrInvalid},
		{name: "missing path", given: corev1alpha1.OCISource{Repository: "app", Path: "nope"}, wantErr: fetch.ErrNotFound, wantText: `"nope"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{})
			want := ociWant("oci://"+registry.Host()+"/team", "", tc.given)
			want.Revision = tc.pin
			a, err := r.get(t, want)
			if tc.wantErr != nil {
				g.Expect(errors.Is(err, tc.wantErr)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), HavePrefix("OCIRegistry team/src (oci://")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			if tc.want != "" {
				g.Expect(a.Revision).To(Equal(tc.want))
			}
			g.Expect(read(a, "deploy/a.yaml")).To(Equal(tc.content))
		})
	}
}

func TestOCIRepositoryThatIsNotNamed(t *testing.T) {
	for _, tc := range []struct{ name, url, repository string }{
		{"neither prefix nor repository", "oci://host", ""},
		{"prefix alone", "oci://host/Team", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			want := ociWant(tc.url, "", artifactRef(tc.repository, corev1alpha1.OCIRef{}))
			_, _, err := newRig(t, fetch.Options{}).Resolve(t.Context(), want)
			g.Expect(errors.Is(err, fetch.ErrInvalid)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring("is not the name of a repository"))
		})
	}
}

func indexOf(t *testing.T, digests ...string) []byte {
	t.Helper()
	manifests := []map[string]any{}
	for _, d := range digests {
		manifests = append(manifests, map[string]any{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": d, "size": 1})
	}
	return indexWith(t, manifests...)
}

func indexWith(t *testing.T, manifests ...map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// nothingAt is a handler that has nothing where the path contains a text.
func nothingAt(text string, inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, text) {
			http.NotFound(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

func TestOCILayers(t *testing.T) {
	registry := testsource.ServeOCI(t, false)
	chart := testsource.Layer{MediaType: chartLayer, Content: testsource.Chart(t, "web", "1.0.0")}
	chart2 := testsource.Layer{MediaType: chartLayer, Content: testsource.Chart(t, "web", "2.0.0")}
	provenance := testsource.Layer{MediaType: provenanceLayer, Content: []byte("-----BEGIN PGP SIGNED MESSAGE-----")}
	unknown := testsource.Layer{MediaType: "application/x-unknown", Content: []byte("?")}
	content := testsource.Layer{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"Chart.yaml": "name: flat"})}
	bad := testsource.Layer{MediaType: chartLayer, Content: testsource.TarGz(t, map[string]string{"web/a": "a"})}
	evil := testsource.Layer{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"../evil": "a"})}
	plain := testsource.Gunzip(t, content.Content)
	of := func(mediaType string, content []byte) []testsource.Layer {
		return []testsource.Layer{{MediaType: mediaType, Content: content}}
	}
	for i, tc := range []struct {
		name     string
		given    []testsource.Layer
		selector string
		helm     bool // through a HelmRegistry too
		want     string
		wantErr  error
		wantText string
	}{
		{name: "provenance first", given: []testsource.Layer{provenance, chart}, helm: true, want: "name: web"},
		{name: "provenance last", given: []testsource.Layer{chart, provenance}, helm: true, want: "name: web"},
		{name: "unknown third layer", given: []testsource.Layer{unknown, chart, provenance}, helm: true, want: "name: web"},
		{name: "two charts", given: []testsource.Layer{chart, chart2}, helm: true, wantErr: fetch.ErrContent, wantText: chartLayer + ", " + chartLayer},
		{name: "two charts and provenance", given: []testsource.Layer{chart, provenance, chart2}, helm: true, wantErr: fetch.ErrContent, wantText: "[" + chartLayer + ", " + provenanceLayer + ", " + chartLayer + "]"},
		{name: "nothing of use", given: []testsource.Layer{unknown}, helm: true, wantErr: fetch.ErrContent, wantText: "application/x-unknown"},
		{name: "provenance alone", given: []testsource.Layer{provenance, unknown}, helm: true, wantErr: fetch.ErrContent, wantText: "the artifact has 0; its layers are [" + provenanceLayer + ", application/x-unknown]"},
		{name: "no layers", helm: true, wantErr: fetch.ErrContent, wantText: "the artifact has 0; its layers are []"},
		{name: "no chart in the chart's layer", given: []testsource.Layer{bad}, helm: true, wantErr: fetch.ErrContent, wantText: "no Chart.yaml"},
		{name: "archive", given: []testsource.Layer{content}, want: "name: flat"},
		{name: "selected", given: []testsource.Layer{content, chart}, selector: contentLayer, want: "name: flat"},
		{name: "chart before archive", given: []testsource.Layer{content, chart}, want: "name: web"},
		{name: "selected in vain", given: []testsource.Layer{content}, selector: "application/x-none", wantErr: fetch.ErrContent, wantText: contentLayer},
		{name: "climbing", given: []testsource.Layer{evil}, wantErr: fetch.ErrContent, wantText: "../evil"},
		{name: "zstd", given: of("application/vnd.oci.image.layer.v1.tar+zstd", testsource.Zstd(t, plain)), want: "name: flat"},
		{name: "zstd of Docker", given: of("application/vnd.docker.image.rootfs.diff.tar.zstd", testsource.Zstd(t, plain)), want: "name: flat"},
		{name: "not compressed", given: of("application/vnd.oci.image.layer.v1.tar", plain), want: "name: flat"},
		{name: "gzip that is called zstd", given: of("application/vnd.oci.image.layer.v1.tar+zstd", content.Content), wantErr: fetch.ErrContent, wantText: "not compressed with zstd"},
		{name: "zstd that is called gzip", given: of(contentLayer, testsource.Zstd(t, plain)), wantErr: fetch.ErrContent, wantText: "not compressed with gzip"},
		{name: "gzip without saying so", given: of("application/x-mine", content.Content), selector: "application/x-mine", want: "name: flat"},
		{name: "zstd without saying so", given: of("application/x-mine", testsource.Zstd(t, plain)), selector: "application/x-mine", want: "name: flat"},
		{name: "tar without saying so", given: of("application/x-mine", plain), selector: "application/x-mine", want: "name: flat"},
		{name: "climbing in zstd", given: of("application/vnd.oci.image.layer.v1.tar+zstd", testsource.Zstd(t, testsource.Gunzip(t, evil.Content))), wantErr: fetch.ErrContent, wantText: "../evil"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			repository := fmt.Sprintf("layers%d/web", i)
			push := registry.Push
			if tc.helm {
				push = registry.PushChart
			}
			push(repository, tc.given, "1.0.0")
			source := artifactRef(repository, corev1alpha1.OCIRef{Tag: "1.0.0"})
			if tc.selector != "" {
				source.LayerSelector = &corev1alpha1.LayerSelector{MediaType: tc.selector}
			}
			wants := []fetch.Want{ociWant("oci://"+registry.Host(), "", source)}
			if tc.helm {
				wants = append(wants, insecureHelm("oci://"+registry.Host(), repository, "1.0.0"))
			}
			for _, want := range wants {
				g := NewWithT(t)
				a, err := newRig(t, fetch.Options{}).get(t, want)
				if tc.wantErr != nil {
					g.Expect(errors.Is(err, tc.wantErr)).To(BeTrue(), "%v", err)
					g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
					continue
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(read(a, "Chart.yaml")).To(ContainSubstring(tc.want))
			}
		})
	}
}

func TestOCIAuthentication(t *testing.T) {
	registry := testsource.ServeOCI(t, true)
	registry.Config.ErrorLog = testsource.Quiet()
	registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}}, "latest")
	ca := string(testsource.Certificate(registry.Server))
	docker := func(host, user, password string) string {
		return fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	all := secrets{
		"basic":     {"username": "u", "password": "canary", "ca.crt": ca},
		"docker":    {".dockerconfigjson": docker(registry.Host(), "u", "canary")},
		"elsewhere": {".dockerconfigjson": docker("elsewhere.test", "u", "canary")},
		"wrong":     {"username": "u", "password": "canary-wrong", "ca.crt": ca},
		"ca":        {"ca.crt": ca},
	}
	basic := testsource.BasicAuth("u", "canary")
	// A token is given to whoever has the password, and to nobody else.
	tokens := testsource.ServeTokens(t, func(r *http.Request) bool { return basic(r) }, "canary-token")
	for _, scheme := range []string{"basic", "bearer"} {
		registry.Allow(basic, "")
		if scheme == "bearer" {
			registry.Allow(func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer canary-token" },
				fmt.Sprintf(`Bearer realm="%s/token",service="test"`, tokens.URL))
		}
		for _, tc := range []struct {
			name, secret, ca string
			insecure         bool
			want             error
			wantText         string
			checkOK          bool
		}{
			{name: "username and password", secret: "basic"},
			{name: "Docker configuration", secret: "docker", ca: "ca"},
			{name: "any certificate", secret: "docker", insecure: true},
			{name: "Docker configuration of another registry", secret: "elsewhere", ca: "ca", want: fetch.ErrSecret, wantText: "no entry for " + registry.Host()},
			{name: "wrong", secret: "wrong", want: fetch.ErrUnauthorized, wantText: "does not accept the credentials"},
			{name: "none", secret: "ca", want: fetch.ErrUnauthorized, wantText: "none are configured", checkOK: scheme == "bearer"},
			{name: "unknown authority", secret: "docker", want: fetch.ErrUnreachable, wantText: "unknown authority"},
		} {
			t.Run(scheme+"/"+tc.name, func(t *testing.T) {
				g := NewWithT(t)
				r := newRig(t, fetch.Options{Secrets: all})
				want := ociWant("oci://"+registry.Host(), tc.secret, artifactRef("app", corev1alpha1.OCIRef{}))
				spec := &want.Source.(*sourcev1alpha1.OCIRegistry).Spec
				spec.Insecure, spec.CASecretRef = tc.insecure, ref(tc.ca)
				a, err := r.get(t, want)
				_, checkErr := r.Check(t.Context(), "team", want.Source)
				if tc.want == nil {
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(checkErr).NotTo(HaveOccurred())
					g.Expect(read(a, "a.yaml")).To(Equal("a"))
					return
				}
				if tc.checkOK {
					g.Expect(checkErr).NotTo(HaveOccurred(), "a registry of tokens may let everyone read something")
					checkErr = err
				}
				for _, err := range []error{err, checkErr} {
					g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
					g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
					g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
				}
			})
		}
	}
}

func TestOCIPlainHTTPNeedsInsecure(t *testing.T) {
	g := NewWithT(t)
	registry := testsource.ServeOCI(t, false)
	want := ociWant("oci://"+registry.Host(), "", artifactRef("app", corev1alpha1.OCIRef{}))
	want.Source.(*sourcev1alpha1.OCIRegistry).Spec.Insecure = false
	_, err := newRig(t, fetch.Options{}).Check(t.Context(), "team", want.Source)
	g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
	g.Expect(err.Error()).To(ContainSubstring("spec.insecure"))
}

func TestOCIWrongAddresses(t *testing.T) {
	page := testsource.ServePages(t, map[string]string{"/": "hello"})
	gone := testsource.ServePages(t, nil)
	gone.Close()
	host := func(url string) string { return "oci" + strings.TrimPrefix(url, "http") }
	for _, tc := range []struct {
		name, given string
		change      func(*sourcev1alpha1.OCIRegistrySpec)
		want        error
		wantText    string
	}{
		{name: "a page", given: host(page.URL), want: fetch.ErrUnreachable, wantText: "no OCI registry"},
		{name: "nobody there", given: host(gone.URL), want: fetch.ErrUnreachable, wantText: "refused"},
		{name: "scheme", given: page.URL, want: fetch.ErrInvalid, wantText: "oci://host"},
		{name: "space", given: "oci://host/my charts", want: fetch.ErrInvalid, wantText: "the url holds a space"},
		{name: "credentials", given: "oci://u:canary@host", want: fetch.ErrInvalid, wantText: "belong into a Secret"},
		{name: "provider that is none", given: host(page.URL), change: func(s *sourcev1alpha1.OCIRegistrySpec) { s.Provider, s.Insecure = "ibm", false }, want: fetch.ErrInvalid, wantText: `"ibm" is none of generic, aws, gcp, azure`},
		{name: "no registry of the provider", given: host(page.URL), change: func(s *sourcev1alpha1.OCIRegistrySpec) { s.Provider, s.Insecure = "aws", false }, want: fetch.ErrInvalid, wantText: "no registry of AWS"},
		{name: "provider in the clear", given: "oci://europe-docker.pkg.dev", change: func(s *sourcev1alpha1.OCIRegistrySpec) { s.Provider = "gcp" }, want: fetch.ErrInvalid, wantText: "in the clear"},
		{name: "provider and Secret", given: "oci://europe-docker.pkg.dev", change: func(s *sourcev1alpha1.OCIRegistrySpec) {
			s.Provider, s.Insecure, s.SecretRef = "gcp", false, ref("s")
		}, want: fetch.ErrInvalid, wantText: "takes no credentials from a Secret"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			want := ociWant(tc.given, "", artifactRef("app", corev1alpha1.OCIRef{}))
			if tc.change != nil {
				tc.change(&want.Source.(*sourcev1alpha1.OCIRegistry).Spec)
			}
			_, err := newRig(t, fetch.Options{}).Check(t.Context(), "team", want.Source)
			g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
			g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
		})
	}
}

// TestOCIContentThatWasCut has a registry send something else than the layer that the
// manifest names, which still is an archive.
func TestOCIContentThatWasCut(t *testing.T) {
	whole := testsource.TarGz(t, map[string]string{"a.yaml": "a", "b.yaml": "b"})
	part := testsource.TarGz(t, map[string]string{"a.yaml": "a"})
	for name, sent := range map[string][]byte{
		"a part": part, "a part of the same size": append(part, make([]byte, len(whole)-len(part))...), "cut off": whole[:len(whole)-1], "more": append(whole, 0),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			registry := testsource.ServeOCI(t, false)
			registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: whole}}, "latest")
			digest := "sha256:" + testsource.SHA256(whole)
			inner := registry.Config.Handler
			for _, h := range []http.Handler{
				serving("/blobs/"+digest, "application/octet-stream", digest, sent, inner),
				http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !strings.HasSuffix(r.URL.Path, "/blobs/"+digest) {
						inner.ServeHTTP(w, r)
						return
					}
					w.(http.Flusher).Flush() // so that nobody is told how long it is
					_, _ = w.Write(sent)
				}),
			} {
				registry.Config.Handler = h
				a, err := newRig(t, fetch.Options{}).get(t, ociWant("oci://"+registry.Host(), "", artifactRef("app", corev1alpha1.OCIRef{})))
				g.Expect(a).To(BeNil())
				g.Expect(err).To(HaveOccurred())
			}
		})
	}
}

// TestOCIRedirectLosesCredentials lets a registry send its readers to a bucket for blobs.
func TestOCIRedirectLosesCredentials(t *testing.T) {
	g := NewWithT(t)
	registry := testsource.ServeOCI(t, false)
	registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}}, "latest")
	var given []string
	inner := registry.Config.Handler
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given = append(given, r.Header.Get("Authorization"))
		r.SetBasicAuth("u", "canary")
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(bucket.Close)
	registry.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/blobs/") && testsource.BasicAuth("u", "canary")(r) {
			http.Redirect(w, r, bucket.URL+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		inner.ServeHTTP(w, r)
	})
	registry.Allow(testsource.BasicAuth("u", "canary"), "")
	r := newRig(t, fetch.Options{Secrets: secrets{"s": {"username": "u", "password": "canary"}}})
	a, err := r.get(t, ociWant("oci://"+registry.Host(), "s", artifactRef("app", corev1alpha1.OCIRef{})))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "a.yaml")).To(Equal("a"))
	g.Expect(given).To(Equal([]string{""}))
}

// TestOCIBombsAreRemembered downloads what is larger than the limits once, and holds little of
// it.
func TestOCIBombsAreRemembered(t *testing.T) {
	bomb := testsource.TarOf(t, []tar.Header{{Name: "a", Typeflag: tar.TypeReg, Size: 128 << 20}}, map[string]string{"a": strings.Repeat("0", 128<<20)})
	for mediaType, content := range map[string][]byte{contentLayer: testsource.Gzip(t, bomb), "application/vnd.oci.image.layer.v1.tar+zstd": testsource.Zstd(t, bomb)} {
		t.Run(mediaType, func(t *testing.T) {
			g := NewWithT(t)
			registry := testsource.ServeOCI(t, false)
			registry.Push("app", []testsource.Layer{{MediaType: mediaType, Content: content}}, "latest")
			r := newRig(t, fetch.Options{Limits: fetch.Limits{ContentBytes: 32 << 20, FileBytes: 256 << 20}})
			want := ociWant("oci://"+registry.Host(), "", artifactRef("app", corev1alpha1.OCIRef{}))
			want.MaxAge = time.Minute
			before := allocated()
			_, err := r.get(t, want)
			g.Expect(errors.Is(err, fetch.ErrLimit)).To(BeTrue(), "%v", err)
			g.Expect(allocated()-before).To(BeNumerically("<", 96<<20), "all that was ever allocated")
			registry.Config.Handler = nothingAt("/blobs/", registry.Config.Handler)
			r.clock.Step(time.Minute)
			_, again := r.get(t, want)
			g.Expect(again).To(MatchError(err.Error()))
		})
	}
}

// allocated counts the bytes that were allocated since the start.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// TestOCIIdentityToken logs in with a token that stands in a Docker configuration in place of
// a password.
func TestOCIIdentityToken(t *testing.T) {
	g := NewWithT(t)
	registry := testsource.ServeOCI(t, true)
	registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}}, "latest")
	tokens := testsource.ServeTokens(t, func(r *http.Request) bool {
		return r.Method == http.MethodPost && r.FormValue("grant_type") == "refresh_token" && r.FormValue("refresh_token") == "canary-identity"
	}, "canary-token")
	registry.Allow(func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer canary-token" },
		fmt.Sprintf(`Bearer realm="%s/token",service="test"`, tokens.URL))
	config := func(token string) map[string]string {
		return map[string]string{".dockerconfigjson": fmt.Sprintf(`{"auths":{%q:{"identitytoken":%q}}}`, registry.Host(), token), "ca.crt": string(testsource.Certificate(registry.Server))}
	}
	r := newRig(t, fetch.Options{Secrets: secrets{"right": config("canary-identity"), "wrong": config("canary-other")}})
	for name, want := range map[string]error{"right": nil, "wrong": fetch.ErrUnauthorized} {
		given := ociWant("oci://"+registry.Host(), name, artifactRef("app", corev1alpha1.OCIRef{}))
		given.Source.(*sourcev1alpha1.OCIRegistry).Spec.Insecure = false
		_, err := r.get(t, given)
		if want == nil {
			g.Expect(err).NotTo(HaveOccurred())
			continue
		}
		g.Expect(errors.Is(err, want)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
	}
}
