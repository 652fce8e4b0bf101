// SPDX-License-Identifier: Apache-2.0

package notation

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"testing"

	"github.com/notaryproject/notation-core-go/testhelper"
	"github.com/notaryproject/notation-go"
	"github.com/notaryproject/notation-go/signer"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"kumodo.io/convoy/fetch/internal/fault"
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

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"version":"1.0","trustPolicies":[{"name":"a","registryScopes":["*"],"signatureVerification":{"level":"strict","override":{"revocation":"skip"}},"trustStores":["ca:x"],"trustedIdentities":["*"]}]}`))
	f.Add([]byte(`{"version":"1.0","trustPolicies":[{"name":"a","registryScopes":["*"],"signatureVerification":{"level":"skip"}}]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = readPolicy(data)
	})
}
