// SPDX-License-Identifier: Apache-2.0

package notation

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/notaryproject/notation-core-go/testhelper"
	"github.com/notaryproject/notation-go"
	"github.com/notaryproject/notation-go/signer"
	. "github.com/onsi/gomega"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
	"kumodo.io/convoy/fetch/internal/verify/attached"
)

func FuzzEnvelope(f *testing.F) {
	leaf, root := testhelper.GetRSALeafCertificate(), testhelper.GetRSARootCertificate()
	v, err := New("team/s", map[string][]byte{"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Cert.Raw})})
	if err != nil {
		f.Fatal(err)
	}
	s, err := signer.NewGenericSigner(leaf.PrivateKey, []*x509.Certificate{leaf.Cert, root.Cert})
	if err != nil {
		f.Fatal(err)
	}
	const digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	described := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest, Size: 3}
	for _, mediaType := range []string{"application/jose+json", "application/cose"} {
		other := described
		other.Size++
		envelope, _, err := s.Sign(f.Context(), other, notation.SignerSignOptions{SignatureMediaType: mediaType})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(envelope, mediaType == "application/cose")
	}
	subject := attached.Subject{Registry: "r.test", Repository: "app", Descriptor: described, Manifest: []byte("abc")}
	f.Fuzz(func(t *testing.T, envelope []byte, cose bool) {
		mediaType := "application/jose+json"
		if cose {
			mediaType = "application/cose"
		}
		// Nothing that was ever signed here is of the subject.
		if _, err := v.check(t.Context(), mediaType, envelope, subject); !errors.Is(err, fault.ErrVerification) {
			t.Fatalf("accepted, or an error without kind: %v", err)
		}
	})
}

// TestKeysThatCostTooMuch are refused before anything is checked with them.
func TestKeysThatCostTooMuch(t *testing.T) {
	g := NewWithT(t)
	root := testhelper.GetRSARootCertificate().Cert.Raw
	inPEM := func(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}) }
	v, err := New("team/s", map[string][]byte{"ca.crt": bytes.Repeat(inPEM(root), 50)})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = New("team/s", map[string][]byte{"ca.crt": bytes.Repeat(inPEM(root), 50), "tsa.pem": inPEM(root)})
	g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError(And(ContainSubstring("the Secret team/s"), ContainSubstring("more than the 50 keys or certificates"))))

	long := testsource.LongCertificate(t, 9000)
	jose := []byte(`{"payload":"e30","header":{"x5c":["` + base64.StdEncoding.EncodeToString(long) + `"]}}`)
	cose := append([]byte("\xd2\x84\x43\xa1\x01\x38\xa1\x18\x21\x59\x05\x00"), long...)
	for _, envelope := range []struct{ mediaType, content, want string }{
		{"application/jose+json", string(jose), "of 9000 bits, and 8192 are the most"},
		{"application/cose", string(cose), "of 9000 bits, and 8192 are the most"},
		{"application/cose", strings.Repeat("x", 256<<10+1), "it has 262145 bytes, and 262144 bytes are the most"},
	} {
		_, err := v.check(t.Context(), envelope.mediaType, []byte(envelope.content), attached.Subject{})
		g.Expect(errors.Is(err, fault.ErrVerification)).To(BeTrue(), "%v", err)
		g.Expect(err).To(MatchError(ContainSubstring(envelope.want)))
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"version":"1.0","trustPolicies":[{"name":"a","registryScopes":["*"],"signatureVerification":{"level":"strict","override":{"revocation":"skip"}},"trustStores":["ca:x"],"trustedIdentities":["*"]}]}`))
	f.Add([]byte(`{"version":"1.0","trustPolicies":[{"name":"a","registryScopes":["*"],"signatureVerification":{"level":"skip"}}]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = readPolicy(data)
	})
}
