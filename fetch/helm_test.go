// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// helmRepository serves files below /charts, with ETags.
type helmRepository struct {
	*httptest.Server
	*testsource.Recorder
	mu    sync.Mutex
	files map[string][]byte
}

func serveHelm(t *testing.T, files map[string][]byte) *helmRepository {
	t.Helper()
	h := &helmRepository{Recorder: &testsource.Recorder{}, files: files}
	h.Server = httptest.NewServer(h.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		content, ok := h.files[strings.TrimPrefix(r.URL.Path, "/charts/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		etag := `"` + testsource.SHA256(content) + `"`
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(content)
	})))
	t.Cleanup(h.Close)
	return h
}

func (h *helmRepository) set(name string, content []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[name] = content
}

func TestHelmIndex(t *testing.T) {
	chart := testsource.Chart(t, "web", "1.0.0")
	build := testsource.Chart(t, "web", "1.1.0+up.2")
	candidate, second := testsource.Chart(t, "web", "1.2.0-rc.1"), testsource.Chart(t, "web", "4.0.0")
	index := fmt.Sprintf(`apiVersion: v1
entries:
  web:
  - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz], digest: %s}
  - {name: web, version: 1.1.0+up.2, urls: ["files/web-1.1.0+up.2.tgz"], digest: "sha256:%s"}
  - {name: web, version: 1.2.0-rc.1, urls: [candidate.tgz]}
  - {name: web, version: 2.0.0, urls: [web-2.0.0.tgz], digest: %064d}
  - {name: web, version: 3.0.0, urls: [gone.tgz]}
  - {name: web, version: 4.0.0, urls: [gone.tgz, second.tgz]}
  - {name: web, version: 5.0.0, urls: ["oci://reg.test/web:5.0.0"]}
  - {name: web, version: 6.0.0, urls: [nochart.tgz]}
  - null
`, testsource.SHA256(chart), testsource.SHA256(build), 7)
	h := serveHelm(t, map[string][]byte{
		"index.yaml": []byte(index), "web-1.0.0.tgz": chart, "files/web-1.1.0+up.2.tgz": build, "web-2.0.0.tgz": chart,
		"candidate.tgz": candidate, "second.tgz": second,
		"nochart.tgz": testsource.TarGz(t, map[string]string{"web/a.yaml": "a"}),
	})
	for _, tc := range []struct {
		name, chart, version, pin string
		want                      string
		wantErr                   error
		wantText                  string
	}{
		{name: "exact", chart: "web", version: "1.0.0", want: "1.0.0@sha256:" + testsource.SHA256(chart)},
		{name: "range", chart: "web", version: "^1", want: "1.1.0+up.2@sha256:" + testsource.SHA256(build)},
		{name: "build left out", chart: "web", version: "1.1.0", want: "1.1.0+up.2@sha256:" + testsource.SHA256(build)},
		{name: "no digest in the index", chart: "web", version: "1.2.0-rc.1", want: "1.2.0-rc.1@sha256:" + testsource.SHA256(candidate)},
		{name: "second URL", chart: "web", version: "4.0.0", want: "4.0.0@sha256:" + testsource.SHA256(second)},
		{name: "pinned to a revision", chart: "web", version: "9", pin: "1.0.0@sha256:" + testsource.SHA256(chart), want: "1.0.0@sha256:" + testsource.SHA256(chart)},
		{name: "pinned to a version", chart: "web", pin: "1.0.0", want: "1.0.0@sha256:" + testsource.SHA256(chart)},
		{name: "other digest", chart: "web", version: "2.0.0", wantErr: fetch.ErrContent, wantText: "the index promises"},
		{name: "missing archive", chart: "web", version: "3.0.0", wantErr: fetch.ErrNotFound, wantText: "gone.tgz"},
		{name: "missing chart", chart: "nope", wantErr: fetch.ErrNotFound, wantText: `no chart "nope"`},
		{name: "missing version", chart: "web", version: "1.0.9", wantErr: fetch.ErrNotFound, wantText: "1.0.0"},
		{name: "archive in a registry", chart: "web", version: "5.0.0", wantErr: fetch.ErrContent, wantText: "oci:// url"},
		{name: "no chart in the archive", chart: "web", version: "6.0.0", wantErr: fetch.ErrContent, wantText: "no Chart.yaml"},
		{name: "nonsense", chart: "web", version: "please", wantErr: fetch.ErrInvalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{})
			want := helmWant(h.URL+"/charts", "", tc.chart, tc.version)
			want.Revision = tc.pin
			a, err := r.get(t, want)
			if tc.wantErr != nil {
				g.Expect(errors.Is(err, tc.wantErr)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), HavePrefix("HelmRegistry team/src ("+h.URL+"/charts): ")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(a.Revision).To(Equal(tc.want))
			g.Expect(a.Path).To(Equal("."))
			g.Expect(a.Digest).To(Equal(a.RootDigest))
			g.Expect(read(a, "Chart.yaml")).To(ContainSubstring("name: web"))
			g.Expect(read(a, "templates/service.yaml")).To(ContainSubstring("kind: Service"))
		})
	}
	t.Run("the plus is encoded", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(h.Requests("up.2.tgz")).NotTo(BeEmpty())
		for _, request := range h.Requests("up.2.tgz") {
			g.Expect(request.RequestURI).To(HaveSuffix("web-1.1.0%2Bup.2.tgz"))
		}
	})
	t.Run("check", func(t *testing.T) {
		g := NewWithT(t)
		r := newRig(t, fetch.Options{})
		result, err := r.Check(t.Context(), "team", helmWant(h.URL+"/charts/", "", "", "").Source)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result).To(Equal(fetch.CheckResult{Charts: 1, SkippedEntries: 1, IndexDigest: "sha256:" + testsource.SHA256([]byte(index))}))
	})
}

// TestHelmBuildsInAnIndex has versions that differ in their builds only, listed in an order
// that means nothing.
func TestHelmBuildsInAnIndex(t *testing.T) {
	two, ten := testsource.Chart(t, "web", "109.0.1+up1.0.2"), testsource.Chart(t, "web", "109.0.1+up1.0.10")
	h := serveHelm(t, map[string][]byte{"web-109.0.1+up1.0.2.tgz": two, "a+b/web-109.0.1+up1.0.10.tgz": ten})
	h.set("index.yaml", []byte(fmt.Sprintf(`entries:
  web:
  - {version: 109.0.0+up1.0.0, urls: [gone.tgz]}
  - {version: 109.0.1+up1.0.10, urls: ["%s/charts/a+b/web-109.0.1%%2Bup1.0.10.tgz"]}
  - {version: 109.0.1+up1.0.2, urls: ["web-109.0.1+up1.0.2.tgz"]}
`, h.URL)))
	for given, want := range map[string]string{
		"109.0.1+up1.0.2": "109.0.1+up1.0.2@sha256:" + testsource.SHA256(two), "109.0.1_up1.0.2": "109.0.1+up1.0.2@sha256:" + testsource.SHA256(two),
		"109.0.1": "109.0.1+up1.0.10@sha256:" + testsource.SHA256(ten), "~109.0": "109.0.1+up1.0.10@sha256:" + testsource.SHA256(ten),
	} {
		t.Run(given, func(t *testing.T) {
			g := NewWithT(t)
			h.Reset()
			g.Expect(newRig(t, fetch.Options{}).get(t, helmWant(h.URL+"/charts", "", "web", given))).To(HaveField("Revision", want))
			g.Expect(h.Requests(".tgz")).To(HaveLen(1))
			g.Expect(h.Requests(".tgz")[0].RequestURI).To(And(ContainSubstring("109.0.1%2Bup1.0."), Not(ContainSubstring("+"))))
		})
	}
	t.Run("none", func(t *testing.T) {
		_, err := newRig(t, fetch.Options{}).get(t, helmWant(h.URL+"/charts", "", "web", "109.0.1+up2"))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("of 3, the nearest are 109.0.1+up1.0.10, 109.0.1+up1.0.2, 109.0.0+up1.0.0")))
	})
}

func TestHelmIndexIsAskedForWhenItIsOldOnly(t *testing.T) {
	g := NewWithT(t)
	one, two := testsource.Chart(t, "web", "1.0.0"), testsource.Chart(t, "web", "1.1.0")
	entry := func(version string, data []byte) string {
		return fmt.Sprintf("  - {name: web, version: %s, urls: [%s.tgz], digest: %s}\n", version, version, testsource.SHA256(data))
	}
	head := "apiVersion: v1\nentries:\n  web:\n"
	h := serveHelm(t, map[string][]byte{"index.yaml": []byte(head + entry("1.0.0", one)), "1.0.0.tgz": one, "1.1.0.tgz": two})
	r := newRig(t, fetch.Options{})
	want := helmWant(h.URL+"/charts", "", "web", "^1")
	want.MaxAge = 5 * time.Minute

	start := r.clock.Now()
	a, err := r.get(t, want)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Revision).To(HavePrefix("1.0.0@"))
	h.set("index.yaml", []byte(head+entry("1.0.0", one)+entry("1.1.0", two)))
	r.clock.Step(4 * time.Minute)
	revision, checkedAt, err := r.Resolve(t.Context(), want)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revision).To(HavePrefix("1.0.0@"))
	g.Expect(checkedAt).To(Equal(start))
	g.Expect(h.Count("index.yaml")).To(Equal(1))

	exact := want
	exact.Content.Helm = &corev1alpha1.HelmSource{Chart: "web", Version: "1.1.0"}
	revision, _, err = r.Resolve(t.Context(), exact)
	g.Expect(err).NotTo(HaveOccurred(), "what the remembered index lacks is asked for")
	g.Expect(revision).To(HavePrefix("1.1.0@"))
	g.Expect(h.Count("index.yaml")).To(Equal(2))

	r.clock.Step(10 * time.Minute)
	revision, checkedAt, err = r.Resolve(t.Context(), want)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revision).To(HavePrefix("1.1.0@"))
	g.Expect(checkedAt).To(Equal(r.clock.Now()))
	asked := h.Requests("index.yaml")
	g.Expect(asked).To(HaveLen(3))
	g.Expect(asked[2].Header.Get("If-None-Match")).NotTo(BeEmpty(), "whether it has changed is asked first")
}

func TestHelmChartThatWasReplaced(t *testing.T) {
	g := NewWithT(t)
	one := testsource.Chart(t, "web", "1.0.0")
	two := testsource.TarGz(t, map[string]string{"web/Chart.yaml": "name: web\nversion: 1.0.0\n", "web/values.yaml": "other: 1\n"})
	h := serveHelm(t, map[string][]byte{"index.yaml": []byte("entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz]}\n"), "web.tgz": one})
	r := newRig(t, fetch.Options{})
	want := helmWant(h.URL+"/charts", "", "web", "1.0.0")
	before, _, err := r.Resolve(t.Context(), want)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = r.Fetch(t.Context(), want, before)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(h.Count("web.tgz")).To(Equal(1), "an archive that was needed for its digest is not downloaded twice")
	h.set("web.tgz", two)
	after, _, err := r.Resolve(t.Context(), want)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after).To(Equal("1.0.0@sha256:" + testsource.SHA256(two)))

	_, err = newRig(t, fetch.Options{}).Fetch(t.Context(), want, before)
	g.Expect(errors.Is(err, fetch.ErrNotFound)).To(BeTrue(), "%v", err)
	g.Expect(err.Error()).To(ContainSubstring("the repository replaced web 1.0.0"))
}

// TestHelmArchiveOfAnotherChart lists archives as what they are not.
func TestHelmArchiveOfAnotherChart(t *testing.T) {
	archive := testsource.Chart(t, "web", "v1.2.3+up.1")
	digest := testsource.SHA256(archive)
	index := "entries:\n  web:\n  - {version: v1.2.3, urls: [web.tgz]}\n"
	for _, entry := range []string{"web 1.2.3", "web v1.2.3+up.1", "web 1.2.3+up.2", "web 2.0.0", "api 1.2.3", "proxied/web 1.2.3"} {
		chart, version, _ := strings.Cut(entry, " ")
		index += fmt.Sprintf("  %s:\n  - {version: %s, urls: [web.tgz], digest: %s}\n  - {version: %s-undigested, urls: [web.tgz]}\n", chart, version, digest, version)
	}
	h := serveHelm(t, map[string][]byte{"index.yaml": []byte(index), "web.tgz": archive})
	for _, tc := range []struct {
		chart, version string
		wantText       string
	}{
		{chart: "web", version: "1.2.3"},
		{chart: "web", version: "v1.2.3+up.1"},
		{chart: "proxied/web", version: "1.2.3"},
		{chart: "web", version: "1.2.3+up.2", wantText: `"1.2.3+up.2"`},
		{chart: "web", version: "2.0.0", wantText: `published as the chart "web" of the version "2.0.0", the archive holds the chart "web" of the version "v1.2.3+up.1"`},
		{chart: "web", version: "2.0.0-undigested", wantText: `"2.0.0-undigested"`},
		{chart: "api", version: "1.2.3", wantText: `published as the chart "api" of the version "1.2.3", the archive holds the chart "web" of the version "v1.2.3+up.1"`},
	} {
		t.Run(tc.chart+" "+tc.version, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{})
			want := helmWant(h.URL+"/charts", "", tc.chart, tc.version)
			want.MaxAge = time.Hour
			// That the same content is held for what it is must not make it right for others.
			for _, right := range []string{"v1.2.3+up.1", "v1.2.3"} {
				_, err := r.get(t, helmWant(h.URL+"/charts", "", "web", right))
				g.Expect(err).NotTo(HaveOccurred())
			}
			_, err := r.get(t, want)
			if tc.wantText == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
		})
	}
}

func TestHelmDigestThatIsMalformed(t *testing.T) {
	g := NewWithT(t)
	archive := testsource.Chart(t, "web", "1.0.0")
	written := "md5:0123"
	index := func() []byte {
		return []byte(fmt.Sprintf("entries:\n  web:\n  - {version: 1.0.0, urls: [web.tgz], digest: %q}\n", written))
	}
	h := serveHelm(t, map[string][]byte{"index.yaml": index(), "web.tgz": archive})
	r := newRig(t, fetch.Options{})
	want := helmWant(h.URL+"/charts", "", "web", "1.0.0")
	want.MaxAge = time.Hour
	for _, get := range []func() error{
		func() error { _, err := r.get(t, want); return err },
		func() error {
			_, err := r.Fetch(t.Context(), want, "1.0.0@sha256:"+testsource.SHA256(archive))
			return err
		},
	} {
		err := get()
		g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring(`the version "1.0.0" of the chart "web" cannot be checked: the digest in its entry, "md5:0123", is none of SHA-256`))
	}
	g.Expect(h.Count("web.tgz")).To(BeZero())

	written = "sha256:" + strings.ToUpper(testsource.SHA256(archive))
	h.set("index.yaml", index())
	r.clock.Step(20 * time.Second)
	a, err := r.get(t, want)
	g.Expect(err).NotTo(HaveOccurred(), "an index that does not suffice is no index for an hour")
	g.Expect(a.Revision).To(Equal("1.0.0@sha256:" + testsource.SHA256(archive)))
}

// TestHelmCredentials lets every host record whether it is given credentials.
func TestHelmCredentials(t *testing.T) {
	chart := func(name string) []byte { return testsource.Chart(t, name, "1.0.0") }
	bucket := serveHelm(t, map[string][]byte{"a.tgz": chart("redirect")})
	cdn := serveHelm(t, map[string][]byte{"c.tgz": chart("cdn")})
	home := serveHelm(t, map[string][]byte{"b.tgz": chart("relative"), "d.tgz": chart("absolute")})
	index := "apiVersion: v1\nentries:\n"
	for name, address := range map[string]string{"relative": "b.tgz", "absolute": home.URL + "/charts/d.tgz", "cdn": cdn.URL + "/charts/c.tgz", "redirect": "/moved/a.tgz"} {
		index += fmt.Sprintf("  %s:\n  - {version: 1.0.0, urls: [%q], digest: %s}\n", name, address, testsource.SHA256(chart(name)))
	}
	home.set("index.yaml", []byte(index))
	inner := home.Config.Handler
	home.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/moved/") {
			http.Redirect(w, r, bucket.URL+"/charts/a.tgz", http.StatusFound)
			return
		}
		inner.ServeHTTP(w, r)
	})
	home.Allow(testsource.BasicAuth("u", "canary"), "")
	all := secrets{"s": {"username": "u", "password": "canary"}, "wrong": {"username": "u", "password": "canary2"}}
	sent := func(h *helmRepository) bool {
		for _, request := range h.Requests("tgz") {
			if request.Header.Get("Authorization") != "" {
				return true
			}
		}
		return false
	}
	for _, tc := range []struct {
		chart           string
		pass            bool
		toCDN, toBucket bool
	}{
		{chart: "relative"}, {chart: "absolute"}, {chart: "cdn"}, {chart: "cdn", pass: true, toCDN: true}, {chart: "redirect"}, {chart: "redirect", pass: true},
	} {
		t.Run(fmt.Sprintf("%s, passCredentials %v", tc.chart, tc.pass), func(t *testing.T) {
			g := NewWithT(t)
			for _, h := range []*helmRepository{home, cdn, bucket} {
				h.Reset()
			}
			r := newRig(t, fetch.Options{Secrets: all})
			want := helmWant(home.URL+"/charts", "s", tc.chart, "1.0.0")
			want.Source.(*sourcev1alpha1.HelmRegistry).Spec.PassCredentials = tc.pass
			_, err := r.get(t, want)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(sent(cdn)).To(Equal(tc.toCDN))
			g.Expect(sent(bucket)).To(Equal(tc.toBucket))
		})
	}
	for name, tc := range map[string]struct{ secret, text string }{"none": {"", "none are configured"}, "wrong": {"wrong", "does not accept the credentials"}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{Secrets: all})
			want := helmWant(home.URL+"/charts", tc.secret, "relative", "1.0.0")
			_, err := r.get(t, want)
			_, checkErr := r.Check(t.Context(), "team", want.Source)
			for _, err := range []error{err, checkErr} {
				g.Expect(errors.Is(err, fetch.ErrUnauthorized)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.text))
				g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
			}
		})
	}
}

// TestHelmCredentialsStayWithTLS has an index with TLS that names archives of the same host
// without it.
func TestHelmCredentialsStayWithTLS(t *testing.T) {
	chart := func(name string) []byte { return testsource.Chart(t, name, "1.0.0") }
	plain := serveHelm(t, map[string][]byte{"d.tgz": chart("plain"), "e.tgz": chart("redirect")})
	home := serveHelm(t, nil)
	home.files = map[string][]byte{"index.yaml": []byte(fmt.Sprintf("entries:\n  plain:\n  - {version: 1.0.0, urls: [%[1]s/charts/d.tgz], digest: %[2]s}\n  redirect:\n  - {version: 1.0.0, urls: [/moved], digest: %[3]s}\n",
		plain.URL, testsource.SHA256(chart("plain")), testsource.SHA256(chart("redirect"))))}
	home.Allow(testsource.BasicAuth("u", "canary"), "")
	secured := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, plain.URL+"/charts/e.tgz?token=canary", http.StatusFound)
			return
		}
		home.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(secured.Close)
	all := secrets{"s": {"username": "u", "password": "canary", "ca.crt": string(testsource.Certificate(secured))}}
	for _, pass := range []bool{false, true} {
		t.Run(fmt.Sprintf("passCredentials %v", pass), func(t *testing.T) {
			g := NewWithT(t)
			plain.Reset()
			get := func(chart string) error {
				want := helmWant(secured.URL+"/charts", "s", chart, "1.0.0")
				want.Source.(*sourcev1alpha1.HelmRegistry).Spec.PassCredentials = pass
				_, err := newRig(t, fetch.Options{Secrets: all}).get(t, want)
				return err
			}
			g.Expect(get("plain")).To(Succeed())
			g.Expect(plain.Requests("d.tgz")).To(ConsistOf(HaveField("Header", Not(HaveKey("Authorization")))))
			err := get("redirect")
			g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(And(HaveSuffix("the server redirects from https to http"), Not(ContainSubstring("canary"))))
			g.Expect(plain.Count("e.tgz")).To(BeZero())
		})
	}
}

// TestHelmRedirectsHideTheirTokens sends clients to addresses with a token in them, where
// nothing comes of it.
func TestHelmRedirectsHideTheirTokens(t *testing.T) {
	gone := testsource.ServePages(t, nil)
	gone.Close()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no: "+r.URL.String(), http.StatusBadGateway)
	}))
	t.Cleanup(failing.Close)
	for name, to := range map[string]string{
		"nobody": gone.URL + "/x?token=canary-token", "no host": "https://nobody.invalid/x?token=canary-token", "a failure": failing.URL + "/x?token=canary-token",
		"a user": strings.Replace(gone.URL, "://", "://u:canary-token@", 1), "no header": failing.URL + "/x?token=canary-token\x7f", "no address": "http://a b/?token=canary-token",
	} {
		moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}))
		t.Cleanup(moved.Close)
		chart := serveHelm(t, map[string][]byte{"index.yaml": []byte("entries:\n  web:\n  - {version: 1.0.0, urls: [\"" + moved.URL + "/web.tgz?sig=canary-signature\"]}\n")})
		for what, url := range map[string]string{"index": moved.URL, "archive": chart.URL + "/charts"} {
			t.Run(what+" at "+name, func(t *testing.T) {
				g := NewWithT(t)
				_, err := newRig(t, fetch.Options{}).get(t, helmWant(url, "", "web", "1.0.0"))
				g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
			})
		}
	}
}

func TestHelmWrongAddresses(t *testing.T) {
	page := testsource.ServePages(t, map[string]string{"/index.yaml": "<html>log in</html>"})
	big := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "apiVersion: v1\nentries:\n  web:\n")
		for range 100 {
			_, _ = io.WriteString(w, "  - {version: 1.0.0, urls: [a]}\n"+strings.Repeat("#", 20_000)+"\n")
		}
	}))
	t.Cleanup(big.Close)
	for _, tc := range []struct {
		name, given string
		want        error
		wantText    string
	}{
		{"no index", page.URL + "/nope", fetch.ErrNotFound, "/nope/index.yaml: not found"},
		{"a page", page.URL, fetch.ErrContent, "no index of a Helm repository"},
		{"large", big.URL, fetch.ErrLimit, "the index has more than 1000000 bytes"},
		{"scheme", "ftp://host", fetch.ErrInvalid, "none of https, http, oci"},
		{"credentials", "https://u:canary@host", fetch.ErrInvalid, "belong into a Secret"},
		{"no host", "https:///charts", fetch.ErrInvalid, "names no host"},
		{"space", page.URL + "/my charts", fetch.ErrInvalid, "the url holds a space"},
		{"space before a registry", " oci://host/charts", fetch.ErrInvalid, "the url holds a space"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, fetch.Options{Limits: fetch.Limits{IndexBytes: 1_000_000}})
			_, err := r.get(t, helmWant(tc.given, "", "web", ""))
			g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
			g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
		})
	}
}
