// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/observer/internal/options"
)

// authority signs certificates.
type authority struct {
	*WithT
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(g *WithT) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	certificate, err := x509.ParseCertificate(der)
	g.Expect(err).NotTo(HaveOccurred())
	return &authority{WithT: g, certificate: certificate, key: key}
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// issue gives certificate and key for a name, for servers or clients.
func (a *authority) issue(name string, usage x509.ExtKeyUsage) (certificate, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.Expect(err).NotTo(HaveOccurred())
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	a.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	a.Expect(err).NotTo(HaveOccurred())
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	a.Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// client gives a client certificate.
func (a *authority) client(name string, usage x509.ExtKeyUsage) []tls.Certificate {
	pair, err := tls.X509KeyPair(a.issue(name, usage))
	a.Expect(err).NotTo(HaveOccurred())
	return []tls.Certificate{pair}
}

// bench is a server with TLS whose certificate files are in a folder.
type bench struct {
	*WithT
	ca      *authority
	folder  string
	options *options.Serving
	files   *certificateFiles
	url     string
}

func newBench(t *testing.T, change func(*options.Serving)) *bench {
	g := NewWithT(t)
	b := &bench{WithT: g, ca: newAuthority(g), folder: t.TempDir()}
	path := func(name string) string { return filepath.Join(b.folder, name) }
	b.options = &options.Serving{
		TLSCertFile: path("tls.crt"), TLSKeyFile: path("tls.key"), ClientCAFile: path("ca.crt"), AllowedClientNames: []string{"convoy-apiserver", "second"},
	}
	change(b.options)
	b.write("ca.crt", b.ca.pem())
	b.serverCertificate("first")
	b.files = &certificateFiles{options: b.options}
	b.Expect(b.files.load()).To(Succeed())

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	b.Expect(err).NotTo(HaveOccurred())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("answer")) })}
	go func() { _ = server.Serve(listening(b.files.config)(listener)) }()
	t.Cleanup(func() { _ = server.Close() })
	b.url = "https://" + listener.Addr().String()
	return b
}

func (b *bench) write(name string, data []byte) {
	b.Expect(os.WriteFile(filepath.Join(b.folder, name), data, 0o600)).To(Succeed())
}

func (b *bench) serverCertificate(name string) {
	certificate, key := b.ca.issue(name, x509.ExtKeyUsageServerAuth)
	b.write("tls.crt", certificate)
	b.write("tls.key", key)
}

// ask makes a request with client certificates and gives the name of the server.
func (b *bench) ask(certificates []tls.Certificate) (string, error) {
	pool := x509.NewCertPool()
	pool.AddCert(b.ca.certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certificates}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(b.url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	return response.TLS.PeerCertificates[0].Subject.CommonName, nil
}

func TestClientCertificates(t *testing.T) {
	same := func(*options.Serving) {}
	for _, test := range []struct {
		name   string
		change func(*options.Serving)
		client func(b *bench) []tls.Certificate
		want   bool
	}{
		{"the allowed one", same, func(b *bench) []tls.Certificate { return b.ca.client("convoy-apiserver", x509.ExtKeyUsageClientAuth) }, true},
		{"another allowed one", same, func(b *bench) []tls.Certificate { return b.ca.client("second", x509.ExtKeyUsageClientAuth) }, true},
		{"none", same, func(*bench) []tls.Certificate { return nil }, false},
		{"of another name", same, func(b *bench) []tls.Certificate { return b.ca.client("somebody", x509.ExtKeyUsageClientAuth) }, false},
		{"of another authority", same, func(b *bench) []tls.Certificate {
			return newAuthority(b.WithT).client("convoy-apiserver", x509.ExtKeyUsageClientAuth)
		}, false},
		{"of a server", same, func(b *bench) []tls.Certificate { return b.ca.client("convoy-apiserver", x509.ExtKeyUsageServerAuth) }, false},
		{"of any name, where none are given", func(o *options.Serving) { o.AllowedClientNames = nil },
			func(b *bench) []tls.Certificate { return b.ca.client("somebody", x509.ExtKeyUsageClientAuth) }, true},
		{"none, where none is demanded", func(o *options.Serving) { o.ClientCAFile, o.AllowedClientNames = "", nil },
			func(*bench) []tls.Certificate { return nil }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, test.change)
			_, err := b.ask(test.client(b))
			b.Expect(err == nil).To(Equal(test.want), "%v", err)
		})
	}
}

func TestPlainHTTPIsNotAnswered(t *testing.T) {
	b := newBench(t, func(*options.Serving) {})
	response, err := http.Get("http" + b.url[len("https"):])
	b.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	b.Expect(response.StatusCode).To(Equal(http.StatusBadRequest))
}

func TestCertificatesAreReplacedWhileServing(t *testing.T) {
	b := newBench(t, func(*options.Serving) {})
	client := b.ca.client("convoy-apiserver", x509.ExtKeyUsageClientAuth)
	b.Expect(b.ask(client)).To(Equal("first"))

	b.serverCertificate("second")
	b.Expect(b.files.load()).To(Succeed())
	b.Expect(b.ask(client)).To(Equal("second"))

	b.write("tls.key", []byte("half written"))
	b.Expect(b.files.load()).NotTo(Succeed())
	b.Expect(b.ask(client)).To(Equal("second"), "what cannot be used leaves the old ones in force")
	b.serverCertificate("third")
	b.write("ca.crt", []byte("no certificate"))
	b.Expect(b.files.load()).To(MatchError(ContainSubstring("--client-ca-file")))
	b.Expect(b.ask(client)).To(Equal("second"))

	b.write("ca.crt", newAuthority(b.WithT).pem())
	b.Expect(b.files.load()).To(Succeed())
	_, err := b.ask(client)
	b.Expect(err).To(HaveOccurred(), "clients of the old authority are refused")
}

func TestFilesThatAreNotThere(t *testing.T) {
	g := NewWithT(t)
	_, err := secure(t.Context(), &options.Serving{TLSCertFile: "/nowhere/tls.crt", TLSKeyFile: "/nowhere/tls.key"}, nil)
	g.Expect(err).To(MatchError(ContainSubstring("--tls-cert-file")))
	wrap, err := secure(t.Context(), &options.Serving{}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(wrap).To(BeNil())
}
