// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"
)

// Keys of the Secret; see the package.
const (
	keyCertificate     = "tls.crt"
	keyPrivate         = "tls.key"
	keyNextCertificate = "next.crt"
	keyNextPrivate     = "next.key"
	keyTrusted         = "ca.crt"
)

// contents is what the Secret holds.
type contents struct {
	signer  *authority          // nil when there is none that could be used
	next    *authority          // nil but during a takeover
	earlier []*x509.Certificate // what else is in ca.crt
}

// read reads the data of the Secret, and says what of it cannot be used. It looks at no
// clock.
func read(data map[string][]byte) (contents, []string) {
	var c contents
	var faults []string
	pair := func(certificate, key string) *authority {
		if len(data[certificate]) == 0 && len(data[key]) == 0 {
			return nil
		}
		a, err := parseAuthority(data[certificate], data[key])
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s and %s hold %s", certificate, key, err))
		}
		return a
	}
	c.signer, c.next = pair(keyCertificate, keyPrivate), pair(keyNextCertificate, keyNextPrivate)
	for rest := data[keyTrusted]; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			if len(bytes.TrimSpace(rest)) > 0 {
				faults = append(faults, keyTrusted+" holds something else than certificates")
			}
			return c, faults
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil || block.Type != certificateBlock || !signs(certificate) {
			faults = append(faults, keyTrusted+" holds something else than certificates of authorities")
			continue
		}
		if !slices.ContainsFunc(c.trusted(), certificate.Equal) {
			c.earlier = append(c.earlier, certificate)
		}
	}
}

// advance returns what the Secret should hold now, and what is done to get there. An
// authority that has expired is one whose takeover is overdue.
func (c contents) advance(now time.Time) (contents, []string, error) {
	if c.signer == nil && c.next == nil {
		made, err := newAuthority(now)
		return contents{signer: made}, []string{"made an authority"}, err
	}
	var steps []string
	if c.next == nil && !now.Before(renewal(c.signer.certificate.NotBefore, c.signer.certificate.NotAfter)) {
		made, err := newAuthority(now)
		if err != nil {
			return contents{}, nil, err
		}
		c.next = made
		steps = append(steps, "made the next authority, which is trusted from now on")
	}
	c.earlier = slices.Clone(c.earlier)
	if c.next != nil && (c.signer == nil || !now.Before(c.takeover())) {
		if c.signer != nil {
			c.earlier = slices.Insert(c.earlier, 0, c.signer.certificate)
		}
		c.signer, c.next = c.next, nil
		steps = append(steps, "the next authority signs from now on")
	}
	c.earlier = slices.DeleteFunc(c.earlier, func(certificate *x509.Certificate) bool { return !now.Before(certificate.NotAfter) })
	return c, steps, nil
}

// takeover is when the next authority begins to sign: after the overlap, or before the
// present one ends.
func (c contents) takeover() time.Time {
	after := c.next.certificate.NotBefore.Add(backdating + overlap)
	if last := c.signer.certificate.NotAfter.Add(-backdating); last.Before(after) {
		return last
	}
	return after
}

// trusted are the certificates of ca.crt, the one that signs first.
func (c contents) trusted() []*x509.Certificate {
	var result []*x509.Certificate
	for _, a := range []*authority{c.signer, c.next} {
		if a != nil {
			result = append(result, a.certificate)
		}
	}
	return append(result, c.earlier...)
}

func (c contents) bundle() []byte { return encode(c.trusted()...) }

func (c contents) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, certificate := range c.trusted() {
		pool.AddCert(certificate)
	}
	return pool
}

// store puts the contents into the data of a Secret, and leaves other keys alone. It returns
// whether that changed anything.
func (c contents) store(data map[string][]byte) bool {
	changed := false
	put := func(key string, value []byte) {
		switch {
		case bytes.Equal(data[key], value):
		case len(value) == 0:
			delete(data, key)
			changed = true
		default:
			data[key] = value
			changed = true
		}
	}
	pair := func(certificate, key string, a *authority) {
		if a == nil {
			put(certificate, nil)
			put(key, nil)
			return
		}
		put(certificate, encode(a.certificate))
		put(key, a.keyPEM)
	}
	pair(keyCertificate, keyPrivate, c.signer)
	pair(keyNextCertificate, keyNextPrivate, c.next)
	put(keyTrusted, c.bundle())
	return changed
}

func encode(certificates ...*x509.Certificate) []byte {
	var out []byte
	for _, certificate := range certificates {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: certificate.Raw})...)
	}
	return out
}
