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
// the options name; nil when they name no certificate.
func secure(ctx context.Context, o *options.Serving) (func(net.Listener) net.Listener, error) {
	if o.TLSCertFile == "" {
		return nil, nil
	}
	files := &certificateFiles{options: o}
	if err := files.load(); err != nil {
		return nil, err
	}
	go files.watch(ctx)
	return func(listener net.Listener) net.Listener { return tls.NewListener(listener, files.listening()) }, nil
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
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}}
	if f.options.ClientCAFile != "" {
		data, err := os.ReadFile(f.options.ClientCAFile)
		if err != nil {
			return fmt.Errorf("--client-ca-file: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(data) {
			return fmt.Errorf("--client-ca-file: %s holds no certificate", f.options.ClientCAFile)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
		config.VerifyConnection = f.allowed
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current = config
	return nil
}

// allowed refuses clients whose certificate has another name than those given.
func (f *certificateFiles) allowed(state tls.ConnectionState) error {
	names := f.options.AllowedClientNames
	if len(names) == 0 || slices.Contains(names, state.PeerCertificates[0].Subject.CommonName) {
		return nil
	}
	return fmt.Errorf("client %q is not allowed (--allowed-client-names)", state.PeerCertificates[0].Subject.CommonName)
}

// listening is the configuration of a listener: each connection gets the files' content of
// the time when it begins.
func (f *certificateFiles) listening() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetConfigForClient: f.config}
}

func (f *certificateFiles) config(*tls.ClientHelloInfo) (*tls.Config, error) {
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
