// SPDX-License-Identifier: Apache-2.0

package check

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"
)

// soon is how long before its end a certificate has to be replaced, and soonOfShort the part of
// a life that is shorter: convoy and cert-manager do it earlier by themselves.
const (
	soon        = 14 * 24 * time.Hour
	soonOfShort = 5
)

// Authorities judges a bundle of authorities in PEM: one that goes on is enough. what names it;
// do is how it is replaced.
func Authorities(what, do string, bundle []byte, now time.Time) Check {
	all, err := certificates(bundle)
	if err != nil {
		return failed(do, "%s: %v", what, err)
	}
	var last *x509.Certificate
	for _, one := range all {
		if last == nil || one.NotAfter.After(last.NotAfter) {
			last = one
		}
	}
	return certificate(what, do, last, now)
}

// Certificate judges what a server or a client shows, in PEM: the first certificate; those of
// authorities may be behind it. what names it; do is how it is replaced.
func Certificate(what, do string, chain []byte, now time.Time) Check {
	all, err := certificates(chain)
	if err != nil {
		return failed(do, "%s: %v", what, err)
	}
	var first *x509.Certificate
	if len(all) > 0 {
		first = all[0]
	}
	return certificate(what, do, first, now)
}

func certificates(bundle []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// certificate judges the one that counts, nil if there is none.
func certificate(what, do string, one *x509.Certificate, now time.Time) Check {
	if one == nil {
		return failed(do, "%s has no certificate", what)
	}
	day := one.NotAfter.UTC().Format(time.DateOnly)
	switch left := one.NotAfter.Sub(now); {
	case left < 0:
		return failed(do, "%s expired on %s", what, day)
	case left < min(soon, one.NotAfter.Sub(one.NotBefore)/soonOfShort):
		return failed(do, "%s expires on %s, and should have been replaced before", what, day)
	}
	return ok("%s is valid until %s", what, day)
}

// APIService judges whether the host reaches convoy-apiserver for a group.
func APIService(name, status, message, namespace string) Check {
	if status == "True" {
		return ok("APIService %s is available", name)
	}
	return failed(fmt.Sprintf("kubectl describe apiservice %s; kubectl -n %s logs deployment/convoy-apiserver --all-pods", name, namespace),
		"APIService %s is not available: %s", name, message)
}
