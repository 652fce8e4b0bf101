// SPDX-License-Identifier: Apache-2.0

package cosign

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
	"kumodo.io/convoy/fetch/internal/testsource/signer"
	"kumodo.io/convoy/fetch/internal/verify/attached"
)

const digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of "abc"

func subject() attached.Subject {
	return attached.Subject{Registry: "r.test:5000", Repository: "team/app", Descriptor: ocispec.Descriptor{Digest: digest, Size: 3}, Manifest: []byte("abc")}
}

func TestRepositoryOf(t *testing.T) {
	for reference, want := range map[string]string{
		"r.test:5000/team/app":                    "r.test:5000/team/app",
		"r.test:5000/team/app:1.0.0":              "r.test:5000/team/app",
		"R.test:5000/team/app:1.0.0@sha256:00":    "r.test:5000/team/app",
		"index.docker.io/library/nginx":           "docker.io/library/nginx",
		"docker.io/nginx:latest":                  "docker.io/library/nginx",
		"registry-1.docker.io/team/app@sha256:00": "docker.io/team/app",
	} {
		NewWithT(t).Expect(repositoryOf(reference)).To(Equal(want), reference)
	}
}

func TestClaims(t *testing.T) {
	for _, tc := range []struct{ name, reference, digest, want string }{
		{name: "right", reference: "r.test:5000/team/app", digest: digest},
		{name: "with a tag", reference: "r.test:5000/team/app:1.0.0", digest: digest},
		{name: "for no repository", digest: digest},
		{name: "another digest", reference: "r.test:5000/team/app", digest: "sha256:00", want: `of "sha256:00"`},
		{name: "no digest", reference: "r.test:5000/team/app", want: `of ""`},
		{name: "another port", reference: "r.test:5001/team/app", digest: digest, want: "r.test:5001/team/app"},
		{name: "a part of the repository", reference: "r.test:5000/team", digest: digest, want: `"r.test:5000/team"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := claims(signer.Payload(t, tc.reference, tc.digest), subject())
			if tc.want == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				return
			}
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// TestSignaturesWithLongKeys bring them in a certificate, and that is looked at first.
func TestSignaturesWithLongKeys(t *testing.T) {
	g := NewWithT(t)
	v, err := New(nil, "team/s", map[string][]byte{"a.pub": []byte(signer.Public(t, signer.Key(t)))})
	g.Expect(err).NotTo(HaveOccurred())
	der := testsource.LongCertificate(t, 9000)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	encoded := base64.StdEncoding.EncodeToString
	body := encoded([]byte(`{"kind":"hashedrekord","spec":{"signature":{"publicKey":{"content":"` + encoded([]byte(text)) + `"}}}}`))
	for name, tc := range map[string]struct {
		layer ocispec.Descriptor
		data  string
	}{
		"a certificate":        {layer: ocispec.Descriptor{MediaType: simpleSigning, Annotations: map[string]string{annotationCertificate: text}}},
		"the entry of a log":   {layer: ocispec.Descriptor{MediaType: simpleSigning, Annotations: map[string]string{annotationLog: `{"Payload":{"body":"` + body + `"}}`}}},
		"a timestamp":          {layer: ocispec.Descriptor{MediaType: simpleSigning, Annotations: map[string]string{annotationTimestamp: `{"SignedRFC3161Timestamp":"` + encoded(der) + `"}`}}},
		"a bundle":             {layer: ocispec.Descriptor{MediaType: bundleArtifact}, data: `{"verificationMaterial":{"certificate":{"rawBytes":"` + encoded(der) + `"}}}`},
		"the log of a bundle":  {layer: ocispec.Descriptor{MediaType: bundleArtifact}, data: `{"verificationMaterial":{"tlogEntries":[{"canonicalizedBody":"` + body + `"}]}}`},
		"a chain, old bundles": {layer: ocispec.Descriptor{MediaType: bundleArtifact}, data: `{"verificationMaterial":{"x509CertificateChain":{"certificates":[{"rawBytes":"` + encoded(der) + `"}]}}}`},
	} {
		_, err := v.check(tc.layer, []byte(tc.data), subject())
		g.Expect(errors.Is(err, fault.ErrVerification)).To(BeTrue(), "%s: %v", name, err)
		g.Expect(err).To(MatchError(ContainSubstring("of 9000 bits, and 8192 are the most")), name)
	}
}

// TestKeysThatCostTooMuch are not tried.
func TestKeysThatCostTooMuch(t *testing.T) {
	g := NewWithT(t)
	one := signer.Public(t, signer.Key(t))
	_, err := New(nil, "team/s", map[string][]byte{"a.pub": []byte(strings.Repeat(one, 50))})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = New(nil, "team/s", map[string][]byte{"a.pub": []byte(strings.Repeat(one, 30)), "b.pub": []byte(strings.Repeat(one, 21))})
	g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError(And(ContainSubstring("the Secret team/s"), ContainSubstring("more than the 50 keys"))))
	long, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 9000-1), E: 65537})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = New(nil, "team/s", map[string][]byte{"a.pub": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: long})})
	g.Expect(errors.Is(err, fault.ErrSecret)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError(And(ContainSubstring("the key a.pub of the Secret team/s"), ContainSubstring("of 9000 bits, and 8192 are the most"))))
}

// TestBlob has the manifest signed as a file, by a key that is trusted.
func TestBlob(t *testing.T) {
	g := NewWithT(t)
	key := signer.Key(t)
	v, err := New(nil, "team/s", map[string][]byte{"a.pub": []byte(signer.Public(t, key))})
	g.Expect(err).NotTo(HaveOccurred())
	check := func(layer testsource.Layer) error {
		_, err := v.check(ocispec.Descriptor{MediaType: layer.MediaType}, layer.Content, subject())
		return err
	}
	g.Expect(check(signer.Bundle(t, key, signer.Statement(t, digest, signer.SignPredicate)))).To(Succeed())
	err = check(signer.Blob(t, key, subject().Manifest))
	g.Expect(errors.Is(err, fault.ErrVerification)).To(BeTrue(), "%v", err)
	g.Expect(err).To(MatchError(ContainSubstring("cosign sign-blob")))
}

// TestIdentities are expressions each by itself.
func TestIdentities(t *testing.T) {
	data := map[string][]byte{"trusted_root.json": []byte(signer.NewSigstore(t).TrustedRoot(signer.Parts{}))}
	for expression, ok := range map[string]bool{
		".*": true, "a|b": true, "(?i)a": true, "https://a\\.test/x": true,
		"": false, "(": false, "nobody)|(?:.*": false, "a)(?:b": false, "*": false, "a\\": false,
	} {
		for _, identity := range []sourcev1alpha1.OIDCIdentity{{Issuer: expression, Subject: "a"}, {Issuer: "a", Subject: expression}} {
			_, err := New([]sourcev1alpha1.OIDCIdentity{identity}, "team/s", data)
			if ok {
				NewWithT(t).Expect(err).NotTo(HaveOccurred(), expression)
				continue
			}
			NewWithT(t).Expect(errors.Is(err, fault.ErrInvalid)).To(BeTrue(), "%q: %v", expression, err)
		}
	}
}

func FuzzSignature(f *testing.F) {
	key, sigstore := signer.Key(f), signer.NewSigstore(f)
	byKey, err := New(nil, "team/s", map[string][]byte{"a.pub": []byte(signer.Public(f, key))})
	if err != nil {
		f.Fatal(err)
	}
	byIdentity, err := New([]sourcev1alpha1.OIDCIdentity{{Issuer: ".*", Subject: ".*"}}, "team/s", map[string][]byte{"trusted_root.json": []byte(sigstore.TrustedRoot(signer.Parts{}))})
	if err != nil {
		f.Fatal(err)
	}
	const other = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	payload := signer.Payload(f, "r.test:5000/team/app", other)
	for _, layer := range []struct {
		content     []byte
		annotations map[string]string
	}{
		{payload, signer.Simple(f, key, payload).Annotations},
		{payload, sigstore.Simple("ci@r.test", "https://r.test", payload).Annotations},
		{signer.Bundle(f, key, signer.Statement(f, other, signer.SignPredicate)).Content, nil},
		{signer.Blob(f, key, subject().Manifest).Content, nil},
		{sigstore.Bundle("ci@r.test", "https://r.test", signer.Statement(f, other, signer.SignPredicate)).Content, nil},
	} {
		f.Add(layer.content, layer.annotations == nil, layer.annotations[annotationSignature], layer.annotations[annotationCertificate], layer.annotations[annotationLog], layer.annotations[annotationTimestamp])
	}
	f.Fuzz(func(t *testing.T, content []byte, bundled bool, made, certificate, log, stamp string) {
		layer := ocispec.Descriptor{MediaType: simpleSigning, Annotations: map[string]string{
			annotationSignature: made, annotationCertificate: certificate, annotationLog: log, annotationTimestamp: stamp,
		}}
		if bundled {
			layer.MediaType = bundleArtifact
		}
		for _, v := range []*Verifier{byKey, byIdentity} {
			// Nothing that was ever signed here is of the subject.
			if _, err := v.check(layer, content, subject()); !errors.Is(err, fault.ErrVerification) {
				t.Fatalf("accepted, or an error without kind: %v", err)
			}
		}
	})
}

func FuzzTrust(f *testing.F) {
	f.Add([]byte(signer.Public(f, signer.Key(f))), []byte(signer.NewSigstore(f).TrustedRoot(signer.Parts{})))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\n\n-----END PUBLIC KEY-----"), []byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1","tlogs":[{}],"certificateAuthorities":[{}]}`))
	f.Fuzz(func(t *testing.T, key, root []byte) {
		identities := []sourcev1alpha1.OIDCIdentity{{Issuer: "a", Subject: "b"}}
		_, err := New(nil, "team/s", map[string][]byte{"a.pub": key})
		_, err2 := New(identities, "team/s", map[string][]byte{"trusted_root.json": root})
		for _, err := range []error{err, err2} {
			if err != nil && !errors.Is(err, fault.ErrSecret) {
				t.Fatalf("an error without kind: %v", err)
			}
		}
	})
}
