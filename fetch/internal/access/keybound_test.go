// SPDX-License-Identifier: Apache-2.0

package access

import (
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

// TestKeysThatCostTooMuch are found in any Secret of a source before they are read.
func TestKeysThatCostTooMuch(t *testing.T) {
	long := testsource.LongCertificate(t, 9000)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: long}))
	longer := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: testsource.LongCertificate(t, 17000)}))
	for _, tc := range []struct{ key, value, want string }{
		{"ca.crt", text, "of 9000 bits, and 8192 are the most"},
		{"tls.key", text, "of 9000 bits, and 8192 are the most"},
		{"githubAppPrivateKey", text, "of 9000 bits, and 8192 are the most"},
		{"a.pub", text, "of 9000 bits, and 8192 are the most"},
		{"identity", longer, "of 17000 bits, and 16384 are the most"},
		{"ca.crt", strings.Repeat("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 1001), "more than 1000 keys or certificates"},
	} {
		for _, refs := range []References{{Auth: "s"}, {CA: "s"}, {Proxy: "s"}, {Trust: "s"}} {
			g := NewWithT(t)
			refs.Namespace = "team"
			_, err := Load(t.Context(), secrets{"s": {tc.key: tc.value}}, refs)
			g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(And(HavePrefix("the key "+tc.key+" of the Secret team/s cannot be used: "), ContainSubstring(tc.want))))
		}
	}
	_, err := Load(t.Context(), secrets{"s": {"identity": text}}, References{Namespace: "team", Auth: "s"})
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "keys with which to log in may be longer")
}
