// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// clientPair makes a self-signed client certificate.
func clientPair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}))
}

func TestClientCertificateGoesToTheOriginOnly(t *testing.T) {
	g := NewWithT(t)
	serve := func(redirect string) (*httptest.Server, *int) {
		shown := 0
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			shown += len(r.TLS.PeerCertificates)
			if redirect != "" {
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
	certificate, key := clientPair(t)
	a := load(t, map[string]string{"tls.crt": certificate, "tls.key": key, "ca.crt": string(testsource.Certificate(home))})
	base, err := url.Parse(home.URL)
	g.Expect(err).NotTo(HaveOccurred())
	client, err := a.NewClient(base, Options{SendCredentials: true})
	g.Expect(err).NotTo(HaveOccurred())
	defer client.Close()
	g.Expect(client.Authenticated()).To(BeTrue())
	response, err := client.Get(home.URL)
	g.Expect(err).NotTo(HaveOccurred())
	_ = response.Body.Close()
	g.Expect(*shownHome).To(Equal(1))
	g.Expect(*shownElsewhere).To(BeZero())

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
