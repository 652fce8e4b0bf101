// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	"k8s.io/client-go/kubernetes"

	"kumodo.io/convoy/internal/certificate"
	"kumodo.io/convoy/observer/internal/options"
)

// identities gives what the process proves itself with; a *certificate.Keeper does.
type identities interface {
	// Current is nil while there is nothing.
	Current() *certificate.Identity
}

// newKeeper gives what makes the certificates of this process; nil when files are given or
// nothing is.
func newKeeper(o *options.Serving, client kubernetes.Interface) (*certificate.Keeper, error) {
	if o.CertificateSecret == "" {
		return nil, nil
	}
	secret, err := certificate.ParseSecret(o.CertificateSecret)
	if err != nil {
		return nil, err
	}
	return certificate.New(certificate.Options{
		Client: client, Secret: secret,
		Subject: certificate.Subject{
			CommonName: component, DNSNames: []string{component + "." + secret.Namespace + ".svc"},
			Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		},
	})
}

// ownConfig is the configuration of a connection with what the process has made.
func ownConfig(o *options.Serving, own identities) (*tls.Config, error) {
	current := own.Current()
	if current == nil {
		return nil, errors.New("there is no certificate yet")
	}
	return serving(o, current.Certificate, current.Roots), nil
}
