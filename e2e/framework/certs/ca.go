// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"time"
)

// validity is long enough for an environment that somebody leaves running over
// a holiday; backdating forgives clocks that were set back a little.
const (
	validity   = 90 * 24 * time.Hour
	backdating = time.Hour
)

// CA is a certificate authority whose certificates and keys are files of one
// folder. It is safe for concurrent use.
type CA struct {
	dir  string
	name string
	cert *x509.Certificate
	pem  []byte
	key  crypto.Signer
}

// Pair is a certificate with its private key, in PEM and as files.
type Pair struct {
	CertFile, KeyFile string
	Cert, Key         []byte
}

// NewCA makes a self-signed authority with the given common name and writes
// <dir>/<name>.crt and <dir>/<name>.key. The folder is created when absent.
func NewCA(dir, name, commonName string) (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key of authority %s: %w", name, err)
	}
	template, err := newTemplate(pkix.Name{CommonName: commonName})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign authority %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse authority %s: %w", name, err)
	}
	pair, err := writePair(dir, name, der, key)
	if err != nil {
		return nil, err
	}
	return &CA{dir: dir, name: name, cert: cert, pem: pair.Cert, key: key}, nil
}

// Bundle returns the authority's certificate in PEM, as a caBundle wants it.
func (c *CA) Bundle() []byte { return append([]byte(nil), c.pem...) }

// CertFile returns the path of the authority's certificate.
func (c *CA) CertFile() string { return filepath.Join(c.dir, c.name+".crt") }

// Pool returns a pool that trusts this authority only.
func (c *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.cert)
	return pool
}

// Server issues a serving certificate for the given host names and IP addresses
// and writes it as <name>.crt and <name>.key beside the authority. The first
// host becomes the common name.
func (c *CA) Server(name string, hosts ...string) (Pair, error) {
	if len(hosts) == 0 {
		return Pair{}, fmt.Errorf("serving certificate %s: no host names", name)
	}
	template, err := newTemplate(pkix.Name{CommonName: hosts[0]})
	if err != nil {
		return Pair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return c.issue(name, template)
}

// Client issues a client certificate for a user and its groups, as Kubernetes
// reads them (common name and organizations), and writes it as <name>.crt and
// <name>.key beside the authority.
func (c *CA) Client(name, user string, groups ...string) (Pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return Pair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return c.issue(name, template)
}

func (c *CA) issue(name string, template *x509.Certificate) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generate the key of certificate %s: %w", name, err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, key.Public(), c.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign certificate %s: %w", name, err)
	}
	return writePair(c.dir, name, der, key)
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("generate a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-backdating),
		NotAfter:     now.Add(validity),
	}, nil
}
