// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	dialTimeout       = 5 * time.Second
	idleTimeout       = 90 * time.Second
	idlePerHost       = 32
	maxResponseHeader = 64 << 10
)

// newTransport gives a transport to the observer only: no proxy from the environment, and
// with the certificates that are in the files when a connection is made.
func newTransport(config Config, timeout time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:       nil,
		DialContext: dialer.DialContext,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			tlsConfig, err := connectionTLS(config)
			if err != nil {
				return nil, err
			}
			return (&tls.Dialer{NetDialer: dialer, Config: tlsConfig}).DialContext(ctx, network, address)
		},
		ResponseHeaderTimeout:  timeout,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
	}
}

// connectionTLS gives the certificates for a connection that begins now.
func connectionTLS(config Config) (*tls.Config, error) {
	if config.TLS != nil {
		return config.TLS()
	}
	return loadTLS(config)
}

// loadTLS reads the certificates.
func loadTLS(config Config) (*tls.Config, error) {
	result := &tls.Config{MinVersion: tls.VersionTLS12}
	if config.CAFile != "" {
		pem, err := os.ReadFile(config.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the observer's CA: %w", err)
		}
		result.RootCAs = x509.NewCertPool()
		if !result.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading the observer's CA: no certificate in %s", config.CAFile)
		}
	}
	if config.ClientCertFile != "" {
		certificate, err := tls.LoadX509KeyPair(config.ClientCertFile, config.ClientKeyFile)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate for the observer: %w", err)
		}
		result.Certificates = []tls.Certificate{certificate}
	}
	return result, nil
}
