// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

func TestClientCertificateGoesToTheOriginOnly(t *testing.T) {
	g := NewWithT(t)
	serve := func(redirect string) (*httptest.Server, *int) {
		shown := 0
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			shown += len(r.TLS.PeerCertificates)
			if redirect != "" && r.URL.Path == "/moved" {
				http.Redirect(w, r, redirect, http.StatusFound)
			}
		}))
		server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
		server.Config.ErrorLog = testsource.Quiet()
		server.StartTLS()
		t.Cleanup(server.Close)
		return server, &shown
	}
	elsewhere, shownElsewhere := serve("")
	home, shownHome := serve(elsewhere.URL)
	certificate, key := testsource.ClientCertificate(t)
	a := load(t, map[string]string{"tls.crt": certificate, "tls.key": key, "ca.crt": string(testsource.Certificate(home))})
	base, err := url.Parse(home.URL)
	g.Expect(err).NotTo(HaveOccurred())
	for _, tc := range []struct {
		name, given     string
		trust           bool
		home, elsewhere int
	}{
		{name: "origin", given: home.URL, home: 1},
		{name: "redirect", given: home.URL + "/moved", home: 1},
		{name: "redirect, trusted source", given: home.URL + "/moved", trust: true, home: 1},
		{name: "another origin", given: elsewhere.URL},
		{name: "another origin that is trusted", given: elsewhere.URL, trust: true, elsewhere: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			*shownHome, *shownElsewhere = 0, 0
			client, err := a.NewClient(base, Options{SendCredentials: true})
			g.Expect(err).NotTo(HaveOccurred())
			defer client.Close()
			g.Expect(client.Credentials()).To(Equal("the credentials of the Secret team/s"))
			u, err := url.Parse(tc.given)
			g.Expect(err).NotTo(HaveOccurred())
			ctx := t.Context()
			if tc.trust {
				ctx = client.Trust(ctx, u)
			}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, tc.given, nil)
			g.Expect(err).NotTo(HaveOccurred())
			response, err := client.Do(request)
			g.Expect(err).NotTo(HaveOccurred())
			_ = response.Body.Close()
			g.Expect([]int{*shownHome, *shownElsewhere}).To(Equal([]int{tc.home, tc.elsewhere}))
		})
	}

	broken := load(t, map[string]string{"tls.crt": certificate, "tls.key": "canary"})
	_, err = broken.NewClient(base, Options{})
	g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue())
	g.Expect(err.Error()).NotTo(ContainSubstring("canary"))
}

func TestProxy(t *testing.T) {
	g := NewWithT(t)
	var asked, authorization string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked, authorization = r.RequestURI, r.Header.Get("Proxy-Authorization")
	}))
	t.Cleanup(proxy.Close)
	a, err := Load(t.Context(), secrets{"p": {"address": proxy.URL, "username": "u", "password": "canary"}}, References{Namespace: "team", Proxy: "p"})
	g.Expect(err).NotTo(HaveOccurred())
	client, err := a.NewClient(&url.URL{Scheme: "http", Host: "git.test"}, Options{})
	g.Expect(err).NotTo(HaveOccurred())
	defer client.Close()
	response, err := client.Get("http://git.test/app.git")
	g.Expect(err).NotTo(HaveOccurred())
	_ = response.Body.Close()
	g.Expect(asked).To(Equal("http://git.test/app.git"))
	g.Expect(authorization).To(HavePrefix("Basic "))
	g.Expect(a.Scrubber().Clean("proxy said canary")).To(Equal("proxy said ***"))
}
