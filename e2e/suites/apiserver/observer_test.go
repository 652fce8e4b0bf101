// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/certs"
)

// Headers and words of the observer's that must not reach a client.
const (
	observerHeader = "X-Observer-Internal"
	canary         = "canary-of-the-observer"
)

// seen is a request as it arrived at the observer.
type seen struct {
	method, uri, host, body string
	header                  http.Header
	// certificate is the serial number of the client's certificate, and name its common name.
	certificate, name string
}

// observer stands for convoy-observer: it demands a client certificate, records every request
// and answers each with where it went.
type observer struct {
	ca     *certs.CA
	caFile string // what convoy-apiserver trusts, a file of its own
	client certs.Pair
	port   int

	mu     sync.Mutex
	server *http.Server
	seen   []seen
	// answer replaces the usual one while it is set.
	answer http.HandlerFunc
}

func startObserver(ca *certs.CA) *observer {
	GinkgoHelper()
	o := &observer{ca: ca, caFile: strings.TrimSuffix(ca.CertFile(), ".crt") + "-of-the-observer.crt"}
	var err error
	o.client, err = ca.Client("observer-client", apiServer)
	Expect(err).NotTo(HaveOccurred())
	o.trust(ca)
	o.listen(ca)
	return o
}

// trust writes the CA that convoy-apiserver checks the observer's certificate against.
func (o *observer) trust(ca *certs.CA) {
	GinkgoHelper()
	Expect(os.WriteFile(o.caFile, ca.Bundle(), 0o644)).To(Succeed())
}

// listen serves with a certificate of the CA. The port stays the same.
func (o *observer) listen(ca *certs.CA) {
	GinkgoHelper()
	serving, err := ca.Server("observer", "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(serving.Cert, serving.Key)
	Expect(err).NotTo(HaveOccurred())
	listener, err := net.Listen("tcp", address(o.port))
	Expect(err).NotTo(HaveOccurred())
	o.port = listener.Addr().(*net.TCPAddr).Port
	server := &http.Server{
		Handler:           http.HandlerFunc(o.serve),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(GinkgoWriter, "observer: ", 0),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: o.ca.Pool()},
	}
	o.mu.Lock()
	o.server = server
	o.mu.Unlock()
	go func() { _ = server.ServeTLS(listener, "", "") }()
}

// Close ends the observer with all its connections.
func (o *observer) Close() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.server.Close()
}

func (o *observer) url() string { return fmt.Sprintf("https://%s", address(o.port)) }

// answerWith replaces the usual answer for the spec.
func (o *observer) answerWith(handler http.HandlerFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer = handler
	DeferCleanup(func(context.Context) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.answer = nil
	})
}

// take returns what arrived since the last call.
func (o *observer) take() []seen {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := o.seen
	o.seen = nil
	return taken
}

// certificates are those with which requests arrived since the last call.
func (o *observer) certificates() []string {
	var serials []string
	for _, s := range o.take() {
		serials = append(serials, s.certificate)
	}
	return serials
}

func (o *observer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	certificate := peer(r)
	o.mu.Lock()
	o.seen = append(o.seen, seen{
		method: r.Method, uri: r.RequestURI, host: r.Host, header: r.Header.Clone(), body: string(body),
		certificate: certificate.SerialNumber.String(), name: certificate.Subject.CommonName,
	})
	handler := o.answer
	o.mu.Unlock()
	if handler != nil {
		handler(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(observerHeader, canary)
	w.Header().Set("Set-Cookie", "session="+canary)
	w.Header().Set("Location", "https://"+canary)
	w.Header().Set("Server", canary)
	fmt.Fprintf(w, `{"kind":"ReleasePreview","apiVersion":"%s/v1alpha1","of":%q}`, coreGroup, r.URL.Path)
}

func peer(r *http.Request) *x509.Certificate { return r.TLS.PeerCertificates[0] }
