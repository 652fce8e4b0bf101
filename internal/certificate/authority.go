// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	authorityLifetime = 365 * 24 * time.Hour
	leafLifetime      = 30 * 24 * time.Hour
	// overlap is how long an authority is trusted before it signs. Processes and APIServices
	// follow within seconds; the rest is time to mend what keeps one of them from it.
	overlap = 7 * 24 * time.Hour
	// backdating forgives clocks that are behind.
	backdating = time.Hour

	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// renewal is when what is valid between two times is replaced: after two thirds.
func renewal(from, to time.Time) time.Time { return from.Add(to.Sub(from) / 3 * 2) }

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	keyPEM      []byte // as it is stored
}

// newAuthority makes an authority that signs itself. The time in its name tells authorities
// apart for people; programs do that by their keys.
func newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of an authority: %w", err)
	}
	template, err := newTemplate(fmt.Sprintf("convoy-ca@%d", now.Unix()), now, now.Add(authorityLifetime))
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of an authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of an authority: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of an authority: %w", err)
	}
	return &authority{certificate: certificate, key: key, keyPEM: pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: encoded})}, nil
}

func newTemplate(commonName string, now, end time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: commonName},
		NotBefore: now.Add(-backdating), NotAfter: end,
	}, nil
}

// parseAuthority reads an authority. Its errors say what is wrong and nothing of the content.
func parseAuthority(certificatePEM, keyPEM []byte) (*authority, error) {
	block, _ := pem.Decode(certificatePEM)
	if block == nil || block.Type != certificateBlock {
		return nil, errors.New("no certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, errors.New("a certificate that cannot be read")
	}
	if !signs(certificate) {
		return nil, errors.New("a certificate that is no authority's")
	}
	pair, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, errors.New("no key, or not that of the certificate")
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("a key that cannot sign")
	}
	return &authority{certificate: certificate, key: key, keyPEM: keyPEM}, nil
}

// signs tells whether a certificate is that of an authority.
func signs(c *x509.Certificate) bool {
	return c.BasicConstraintsValid && c.IsCA && (c.KeyUsage == 0 || c.KeyUsage&x509.KeyUsageCertSign != 0)
}

// Subject is for whom a certificate is made.
type Subject struct {
	// CommonName is the name as a client.
	CommonName string
	// DNSNames are the names as a server.
	DNSNames []string
	// Usages are what the certificate is good for.
	Usages []x509.ExtKeyUsage
}

// issue makes a key and signs a certificate for it, which does not outlive the authority.
func (a *authority) issue(s Subject, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making the key of a certificate: %w", err)
	}
	end := now.Add(leafLifetime)
	if a.certificate.NotAfter.Before(end) {
		end = a.certificate.NotAfter
	}
	template, err := newTemplate(s.CommonName, now, end)
	if err != nil {
		return tls.Certificate{}, err
	}
	template.DNSNames, template.ExtKeyUsage, template.KeyUsage = s.DNSNames, s.Usages, x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("signing a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("reading a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}
