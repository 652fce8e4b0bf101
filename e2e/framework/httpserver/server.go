// SPDX-License-Identifier: Apache-2.0

// Package httpserver is what the content servers of the test environment share:
// a listener on 127.0.0.1, basic authentication that is kept in the served
// folder, and a record of the requests that were answered.
package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"kumodo.io/convoy/e2e/framework/certs"
)

// Options of a server. Handler is required.
type Options struct {
	Address     string // of the loopback; empty is 127.0.0.1 with a free port
	Handler     http.Handler
	Certificate *certs.Pair // serves https when given
}

// Server is a running HTTP server.
type Server struct {
	scheme, address string
	server          *http.Server
	done            chan struct{}
}

// Start listens and serves in the background. It refuses every address that is
// not of the loopback.
func Start(o Options) (*Server, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", o.Address, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("address %q is not of the loopback", o.Address)
	}
	s := &Server{scheme: "http", server: &http.Server{Handler: o.Handler, ReadHeaderTimeout: 30 * time.Second}, done: make(chan struct{})}
	if o.Certificate != nil {
		pair, err := tls.X509KeyPair(o.Certificate.Cert, o.Certificate.Key)
		if err != nil {
			return nil, fmt.Errorf("load the serving certificate: %w", err)
		}
		s.scheme = "https"
		s.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
	}
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s.address = listener.Addr().String()
	go s.serve(listener)
	return s, nil
}

func (s *Server) serve(listener net.Listener) {
	defer close(s.done)
	// Both return only after Close, or when the listener breaks; then every
	// request fails, which no test can overlook.
	if s.server.TLSConfig != nil {
		_ = s.server.ServeTLS(listener, "", "")
	} else {
		_ = s.server.Serve(listener)
	}
}

// URL returns scheme, host and port, without a slash at the end.
func (s *Server) URL() string { return s.scheme + "://" + s.address }

// Address returns host and port.
func (s *Server) Address() string { return s.address }

// Close stops listening and waits for running requests until ctx ends, then
// cuts them off.
func (s *Server) Close(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	<-s.done
	return err
}
