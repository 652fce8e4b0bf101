// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// TestOCITokensInTheClear has a registry with TLS send its clients to a server without it,
// where they would show their credentials; that its certificate need not be trusted is no
// reason to.
func TestOCITokensInTheClear(t *testing.T) {
	registry := testsource.ServeOCI(t, true)
	registry.Config.ErrorLog = testsource.Quiet()
	registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}}, "latest")
	registry.Push("web", []testsource.Layer{{MediaType: chartLayer, Content: testsource.Chart(t, "web", "1.0.0")}}, "1.0.0")
	var shown atomic.Int32
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		shown.Add(1)
		_, _ = fmt.Fprint(w, `{"token":"canary-token","access_token":"canary-token"}`)
	}))
	t.Cleanup(tokens.Close)
	registry.Allow(func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer canary-token" },
		fmt.Sprintf(`Bearer realm="%s/token",service="test"`, tokens.URL))
	ca := string(testsource.Certificate(registry.Server))
	all := secrets{
		"password": {"username": "u", "password": "canary", "ca.crt": ca},
		"identity": {".dockerconfigjson": fmt.Sprintf(`{"auths":{%q:{"identitytoken":"canary-identity"}}}`, registry.Host()), "ca.crt": ca},
		"ca":       {"ca.crt": ca},
	}
	for _, secret := range []string{"password", "identity", "ca"} {
		for _, insecure := range []bool{false, true} {
			artifact := ociWant("oci://"+registry.Host(), secret, artifactRef("app", corev1alpha1.OCIRef{}))
			artifact.Source.(*sourcev1alpha1.OCIRegistry).Spec.Insecure = insecure
			chart := helmWant("oci://"+registry.Host(), secret, "web", "1.0.0")
			chart.Source.(*sourcev1alpha1.HelmRegistry).Spec.Insecure = insecure
			for kind, want := range map[string]fetch.Want{"artifact": artifact, "chart": chart} {
				t.Run(fmt.Sprintf("%s of %s, insecure %v", kind, secret, insecure), func(t *testing.T) {
					g := NewWithT(t)
					shown.Store(0)
					r := newRig(t, fetch.Options{Secrets: all})
					_, err := r.get(t, want)
					_, checkErr := r.Check(t.Context(), "team", want.Source)
					for _, err := range []error{err, checkErr} {
						g.Expect(errors.Is(err, fetch.ErrUnreachable)).To(BeTrue(), "%v", err)
						g.Expect(err.Error()).To(And(ContainSubstring("uses http but registry was contacted over https"), Not(ContainSubstring("canary"))))
					}
					g.Expect(shown.Load()).To(BeZero())
				})
			}
		}
	}
}

// TestOCITokensFromElsewhere has a registry whose tokens are made at another address: the
// password goes there, as the protocol wants it, the client certificate does not.
func TestOCITokensFromElsewhere(t *testing.T) {
	g := NewWithT(t)
	certificates := func(count *atomic.Int32, inner http.Handler) *httptest.Server {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			count.Add(int32(len(r.TLS.PeerCertificates)))
			inner.ServeHTTP(w, r)
		}))
		server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
		server.Config.ErrorLog = testsource.Quiet()
		server.StartTLS()
		t.Cleanup(server.Close)
		return server
	}
	registry := testsource.ServeOCI(t, false)
	registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}}, "latest")
	var toRegistry, toTokens atomic.Int32
	secured := certificates(&toRegistry, registry.Config.Handler)
	tokens := certificates(&toTokens, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !testsource.BasicAuth("u", "canary")(r) {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprint(w, `{"token":"canary-token"}`)
	}))
	registry.Allow(func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer canary-token" },
		fmt.Sprintf(`Bearer realm="%s/token",service="test"`, tokens.URL))
	certificate, key := testsource.ClientCertificate(t)
	r := newRig(t, fetch.Options{Secrets: secrets{"s": {"username": "u", "password": "canary", "tls.crt": certificate, "tls.key": key, "ca.crt": string(testsource.Certificate(secured))}}})
	want := ociWant("oci"+strings.TrimPrefix(secured.URL, "https"), "s", artifactRef("app", corev1alpha1.OCIRef{}))
	want.Source.(*sourcev1alpha1.OCIRegistry).Spec.Insecure = false
	a, err := r.get(t, want)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read(a, "a.yaml")).To(Equal("a"))
	g.Expect(toRegistry.Load()).NotTo(BeZero())
	g.Expect(toTokens.Load()).To(BeZero())
}

// TestOCIRealmThatRedirects has the address that makes tokens send its clients on, who leave
// their credentials behind.
func TestOCIRealmThatRedirects(t *testing.T) {
	registry := testsource.ServeOCI(t, true)
	registry.Config.ErrorLog = testsource.Quiet()
	registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}}, "latest")
	var mu sync.Mutex
	shown := ""
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		shown += r.Header.Get("Authorization") + r.URL.String() + string(body)
		mu.Unlock()
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(elsewhere.Close)
	var asked atomic.Int32
	tokens := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, elsewhere.URL+"/token", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(tokens.Close)
	registry.Allow(func(*http.Request) bool { return false }, fmt.Sprintf(`Bearer realm="%s/token",service="test"`, tokens.URL))
	ca := string(testsource.Certificate(registry.Server))
	all := secrets{
		"password": {"username": "u", "password": "canary", "ca.crt": ca},
		"identity": {".dockerconfigjson": fmt.Sprintf(`{"auths":{%q:{"identitytoken":"canary-identity"}}}`, registry.Host()), "ca.crt": ca},
	}
	for name := range all {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked.Store(0)
			want := ociWant("oci://"+registry.Host(), name, artifactRef("app", corev1alpha1.OCIRef{}))
			want.Source.(*sourcev1alpha1.OCIRegistry).Spec.Insecure = false
			_, err := newRig(t, fetch.Options{Secrets: all}).get(t, want)
			g.Expect(err).To(MatchError(Not(ContainSubstring("canary"))))
			g.Expect(asked.Load()).NotTo(BeZero())
			mu.Lock()
			defer mu.Unlock()
			g.Expect(shown).NotTo(Or(ContainSubstring("canary"), ContainSubstring("Basic")))
		})
	}
}
