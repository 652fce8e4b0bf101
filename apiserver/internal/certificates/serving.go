// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"sync"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certutil "k8s.io/client-go/util/cert"
)

// Serving hands the serving certificate to the API server library, without files. Until there
// is one it gives another that nobody trusts, so that probes are answered and can tell why
// the server is not ready.
type Serving struct {
	mu               sync.Mutex
	certificate, key []byte // PEM
	listeners        []dynamiccertificates.Listener
}

var _ dynamiccertificates.CertKeyContentProvider = &Serving{}

// NewServing gives a Serving with a certificate for a host name that nobody trusts.
func NewServing(host string) (*Serving, error) {
	certificate, key, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("making the certificate to start with: %w", err)
	}
	return &Serving{certificate: certificate, key: key}, nil
}

// Name of the provider, for the library's logs.
func (s *Serving) Name() string { return "serving-certificate" }

// CurrentCertKeyContent gives certificate and key in PEM.
func (s *Serving) CurrentCertKeyContent() (certificate, key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.certificate, s.key
}

// AddListener adds one to be told of changes.
func (s *Serving) AddListener(listener dynamiccertificates.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, listener)
}

// set replaces the certificate.
func (s *Serving) set(pair tls.Certificate) error {
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return fmt.Errorf("encoding the key of the serving certificate: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.certificate = nil
	for _, der := range pair.Certificate {
		s.certificate = append(s.certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	s.key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	for _, listener := range s.listeners {
		listener.Enqueue()
	}
	return nil
}
