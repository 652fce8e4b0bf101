// SPDX-License-Identifier: Apache-2.0

package check

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"
)

// soon is how long before its end a certificate has to be replaced: convoy and cert-manager do
// it earlier by themselves.
const soon = 14 * 24 * time.Hour

// Certificates judges a bundle in PEM: of several authorities, one that goes on is enough. what
// names it; do is how it is replaced.
func Certificates(what, do string, bundle []byte, now time.Time) Check {
	var end time.Time
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return failed(do, "%s: %v", what, err)
		}
		if certificate.NotAfter.After(end) {
			end = certificate.NotAfter
		}
	}
	day := end.UTC().Format(time.DateOnly)
	switch {
	case end.IsZero():
		return failed(do, "%s has no certificate", what)
	case end.Before(now):
		return failed(do, "%s expired on %s", what, day)
	case end.Sub(now) < soon:
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
