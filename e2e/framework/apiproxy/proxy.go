// SPDX-License-Identifier: Apache-2.0

// Package apiproxy stands between clients and an API server, and has somebody decide about
// every write: whether it is passed on, and whether its answer comes back. So a test can have
// a client die at a write, or a write get lost or arrive late, and nothing of the client is
// changed for it.
package apiproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"kumodo.io/convoy/e2e/framework/certs"
	"kumodo.io/convoy/e2e/framework/httpserver"
)

// Options of a proxy. All are required.
type Options struct {
	Server      string         // URL of the API server
	Roots       *x509.CertPool // trusted to issue its certificate
	Certificate certs.Pair     // that the proxy serves with
	Gate        Gate
}

// Gate decides about one write. pass has it done and gives the status of the answer, 502
// where the server gave none; it is called once or not at all, and the write is done even if
// its client is gone. The client gets the answer when the gate returns true, and else a broken
// connection. Gates are called at the same time.
type Gate func(write Write, pass func() (status int)) (answer bool)

// Write is a request that changes something: not a read, not a dry run, and not a review,
// which is a question.
type Write struct {
	Method, Path, ContentType string
	Body                      []byte
}

// Proxy is a running proxy.
type Proxy struct {
	server    *httpserver.Server
	transport *http.Transport
	forward   *httputil.ReverseProxy
	gate      Gate
}

// Start serves on a free port of 127.0.0.1.
func Start(o Options) (*Proxy, error) {
	target, err := url.Parse(o.Server)
	if err != nil {
		return nil, fmt.Errorf("URL of the API server: %w", err)
	}
	p := &Proxy{gate: o.Gate, transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, DisableCompression: true,
	}}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     p.transport,
		FlushInterval: -1, // watches
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	p.server, err = httpserver.Start(httpserver.Options{Handler: p, Certificate: &o.Certificate})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// URL is where the API server is reached by way of the proxy.
func (p *Proxy) URL() string { return p.server.URL() }

// Close ends the proxy with everything that is under way.
func (p *Proxy) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // watches end only when they are cut off
	err := p.server.Close(ctx)
	p.transport.CloseIdleConnections()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// ServeHTTP passes a request on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !writes(r) {
		p.forward.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone, and has not said all
	}
	got := &answer{header: http.Header{}, status: http.StatusBadGateway}
	pass := func() int {
		whole := r.Clone(context.WithoutCancel(r.Context()))
		whole.Body = io.NopCloser(bytes.NewReader(body))
		p.forward.ServeHTTP(got, whole)
		return got.status
	}
	write := Write{Method: r.Method, Path: r.URL.Path, ContentType: r.Header.Get("Content-Type"), Body: body}
	if !p.gate(write, pass) {
		panic(http.ErrAbortHandler)
	}
	got.copyTo(w)
}

// writes tells whether a request changes something.
func writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return false
	}
	return !r.URL.Query().Has("dryRun") &&
		!strings.HasPrefix(r.URL.Path, "/apis/authorization.k8s.io/") && !strings.HasPrefix(r.URL.Path, "/apis/authentication.k8s.io/")
}

// answer keeps what the server answered until it is known whether anybody gets it.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header               { return a.header }
func (a *answer) WriteHeader(status int)            { a.status = status }
func (a *answer) Write(content []byte) (int, error) { return a.body.Write(content) }

func (a *answer) copyTo(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = a.body.WriteTo(w) // a client that is gone needs no answer
}
