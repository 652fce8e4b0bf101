// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(g Gomega) authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	certificate, err := x509.ParseCertificate(der)
	g.Expect(err).NotTo(HaveOccurred())
	return authority{certificate, key}
}

// issue writes a certificate and its key into files.
func (a authority) issue(g Gomega, dir, name string) (certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	g.Expect(err).NotTo(HaveOccurred())
	keyDER, err := x509.MarshalECPrivateKey(key)
	g.Expect(err).NotTo(HaveOccurred())
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	writePEM(g, certFile, "CERTIFICATE", der)
	writePEM(g, keyFile, "EC PRIVATE KEY", keyDER)
	return certFile, keyFile
}

func writePEM(g Gomega, file, kind string, der []byte) {
	g.Expect(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)).To(Succeed())
}

// newTLSObserver serves with a certificate of the authority, and asks for one.
func newTLSObserver(g Gomega, ca authority, dir string, handler http.HandlerFunc) *httptest.Server {
	certFile, keyFile := ca.issue(g, dir, "observer")
	serving, err := tls.LoadX509KeyPair(certFile, keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	pool := x509.NewCertPool()
	pool.AddCert(ca.certificate)
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{serving}, ClientCAs: pool, ClientAuth: tls.VerifyClientCertIfGiven}
	server.StartTLS()
	return server
}

func TestIdentityIsForwardedWithAClientCertificateOnly(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	ca := newAuthority(g)
	var asked *http.Request
	server := newTLSObserver(g, ca, dir, func(w http.ResponseWriter, r *http.Request) { asked = r; writeJSON(w, 200, "{}") })
	defer server.Close()
	caFile := filepath.Join(dir, "ca.crt")
	writePEM(g, caFile, "CERTIFICATE", ca.certificate.Raw)
	certFile, keyFile := ca.issue(g, dir, "convoy-apiserver")
	alice := &user.DefaultInfo{Name: "alice", UID: "7", Groups: []string{"devs", "ops"}, Extra: map[string][]string{"scopes": {"a"}}}
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.Header.Set("X-Remote-User", "root")
	request = request.WithContext(genericapirequest.WithUser(request.Context(), alice))

	p, err := New(Config{URL: server.URL, CAFile: caFile, ClientCertFile: certFile, ClientKeyFile: keyFile})
	g.Expect(err).NotTo(HaveOccurred())
	_, got := ask(t, p, request)
	g.Expect(got.err).NotTo(HaveOccurred())
	g.Expect(asked.TLS.PeerCertificates[0].Subject.CommonName).To(Equal("convoy-apiserver"))
	g.Expect(asked.Header["X-Remote-User"]).To(Equal([]string{"alice"}))
	g.Expect(asked.Header["X-Remote-Group"]).To(Equal([]string{"devs", "ops"}))
	g.Expect(asked.Header["X-Remote-Extra-Scopes"]).To(Equal([]string{"a"}))

	p, err = New(Config{URL: server.URL, CAFile: caFile})
	g.Expect(err).NotTo(HaveOccurred())
	_, got = ask(t, p, request)
	g.Expect(got.err).NotTo(HaveOccurred())
	g.Expect(asked.TLS.PeerCertificates).To(BeEmpty())
	for name := range asked.Header {
		g.Expect(name).NotTo(HavePrefix("X-Remote-"))
	}
}

func TestCertificatesAreReadAnew(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	ca, other := newAuthority(g), newAuthority(g)
	server := newTLSObserver(g, ca, dir, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, "{}") })
	defer server.Close()
	caFile := filepath.Join(dir, "ca.crt")
	writePEM(g, caFile, "CERTIFICATE", other.certificate.Raw)
	p, err := New(Config{URL: server.URL, CAFile: caFile})
	g.Expect(err).NotTo(HaveOccurred())
	_, got := ask(t, p, httptest.NewRequest(http.MethodGet, "/", nil))
	g.Expect(got.status(g).Code).To(Equal(int32(http.StatusServiceUnavailable)), "an observer that we do not trust is none")
	writePEM(g, caFile, "CERTIFICATE", ca.certificate.Raw)
	_, got = ask(t, p, httptest.NewRequest(http.MethodGet, "/", nil))
	g.Expect(got.err).NotTo(HaveOccurred())
}

func TestCertificatesWithoutFiles(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	ca := newAuthority(g)
	var asked *http.Request
	server := newTLSObserver(g, ca, dir, func(w http.ResponseWriter, r *http.Request) { asked = r; writeJSON(w, 200, "{}") })
	defer server.Close()
	certFile, keyFile := ca.issue(g, dir, "convoy-apiserver")
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	var given *tls.Config
	p, err := New(Config{URL: server.URL, TLS: func() (*tls.Config, error) {
		if given == nil {
			return nil, errors.New("there is none yet")
		}
		return given, nil
	}})
	g.Expect(err).NotTo(HaveOccurred())
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request = request.WithContext(genericapirequest.WithUser(request.Context(), &user.DefaultInfo{Name: "alice"}))
	_, got := ask(t, p, request)
	g.Expect(got.status(g).Code).To(Equal(int32(http.StatusServiceUnavailable)))

	given = &tls.Config{RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{pair}}
	given.RootCAs.AddCert(ca.certificate)
	_, got = ask(t, p, request)
	g.Expect(got.err).NotTo(HaveOccurred())
	g.Expect(asked.TLS.PeerCertificates[0].Subject.CommonName).To(Equal("convoy-apiserver"))
	g.Expect(asked.Header["X-Remote-User"]).To(Equal([]string{"alice"}))
}
