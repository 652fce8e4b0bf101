// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"kumodo.io/convoy/observer/internal/options"
)

// reloadInterval is how often certificate files are looked at.
const reloadInterval = time.Minute

// secure returns what makes a listener speak TLS and demand the client certificates that
// the options name; nil when they name no certificate. own is what the process makes itself,
// nil when it does not.
func secure(ctx context.Context, o *options.Serving, own identities) (func(net.Listener) net.Listener, error) {
	if own != nil {
		return listening(func() (*tls.Config, error) { return ownConfig(o, own) }), nil
	}
	if o.TLSCertFile == "" {
		return nil, nil
	}
	files := &certificateFiles{options: o}
	if err := files.load(); err != nil {
		return nil, err
	}
	go files.watch(ctx)
	return listening(files.config), nil
}

// listening wraps a listener, each connection of which gets the configuration of the time
// when it begins.
func listening(config func() (*tls.Config, error)) func(net.Listener) net.Listener {
	return func(listener net.Listener) net.Listener {
		return tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return config() },
		})
	}
}

// serving is the configuration of one connection. clients are the authorities of the client
// certificates that are demanded; nil: none are.
func serving(o *options.Serving, certificate tls.Certificate, clients *x509.CertPool) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"}}
	if clients != nil {
		config.ClientCAs, config.ClientAuth = clients, tls.RequireAndVerifyClientCert
		config.VerifyConnection = allowed(o.AllowedClientNames)
	}
	return config
}

// certificateFiles holds the content of the certificate files, which may be replaced while
// the process runs.
type certificateFiles struct {
	options *options.Serving

	mu      sync.Mutex
	current *tls.Config
}

func (f *certificateFiles) load() error {
	pair, err := tls.LoadX509KeyPair(f.options.TLSCertFile, f.options.TLSKeyFile)
	if err != nil {
		return fmt.Errorf("--tls-cert-file: %w", err)
	}
	var clients *x509.CertPool
	if f.options.ClientCAFile != "" {
		data, err := os.ReadFile(f.options.ClientCAFile)
		if err != nil {
			return fmt.Errorf("--client-ca-file: %w", err)
		}
		clients = x509.NewCertPool()
		if !clients.AppendCertsFromPEM(data) {
			return fmt.Errorf("--client-ca-file: %s holds no certificate", f.options.ClientCAFile)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current = serving(f.options, pair, clients)
	return nil
}

// allowed gives what refuses clients whose certificate has another name than those given.
func allowed(names []string) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		name := state.PeerCertificates[0].Subject.CommonName
		if len(names) == 0 || slices.Contains(names, name) {
			return nil
		}
		return fmt.Errorf("client %q is not allowed (--allowed-client-names)", name)
	}
}

func (f *certificateFiles) config() (*tls.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current, nil
}

// watch reads the files again from time to time; files that cannot be used leave those
// that were read before in force.
func (f *certificateFiles) watch(ctx context.Context) {
	ticker := time.NewTicker(reloadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := f.load(); err != nil {
				klog.FromContext(ctx).Error(err, "certificates not read again, the old ones stay in force")
			}
		}
	}
}
