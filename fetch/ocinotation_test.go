// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"testing"

	"github.com/notaryproject/notation-core-go/testhelper"
	"github.com/notaryproject/notation-go"
	notationregistry "github.com/notaryproject/notation-go/registry"
	notationsigner "github.com/notaryproject/notation-go/signer"
	. "github.com/onsi/gomega"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

const (
	jose = "application/jose+json"
	cose = "application/cose"
)

// notarise signs what is tagged in a repository, with the library of the Notary Project.
func notarise(t *testing.T, registry *testsource.Registry, repository, tag, envelope string, chain ...testhelper.RSACertTuple) {
	t.Helper()
	certificates := []*x509.Certificate{}
	for _, c := range chain {
		certificates = append(certificates, c.Cert)
	}
	signer, err := notationsigner.NewGenericSigner(chain[0].PrivateKey, certificates)
	if err != nil {
		t.Fatal(err)
	}
	target, err := remote.NewRepository(registry.Host() + "/" + repository)
	if err != nil {
		t.Fatal(err)
	}
	target.PlainHTTP = true
	_, err = notation.Sign(t.Context(), signer, notationregistry.NewRepository(target), notation.SignOptions{
		SignerSignOptions: notation.SignerSignOptions{SignatureMediaType: envelope}, ArtifactReference: registry.Host() + "/" + repository + ":" + tag,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func inPEM(c testhelper.RSACertTuple) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Cert.Raw}))
}

// statement is a trust policy of one statement.
func statement(level, scope, identity string, override map[string]string) string {
	verification := map[string]any{"level": level}
	if override != nil {
		verification["override"] = override
	}
	one := map[string]any{"name": "one", "registryScopes": []string{scope}, "signatureVerification": verification}
	if level != "skip" {
		one["trustStores"], one["trustedIdentities"] = []string{"ca:anything"}, []string{identity}
	}
	data, _ := json.Marshal(map[string]any{"version": "1.0", "trustPolicies": []any{one}})
	return string(data)
}

func TestNotation(t *testing.T) {
	leaf, root := testhelper.GetRSALeafCertificate(), testhelper.GetRSARootCertificate()
	stranger := testhelper.GetRSASelfSignedSigningCertificate()
	for _, envelope := range []string{jose, cose} {
		for _, kind := range []string{"referrers", "tag"} {
			registry := testsource.ServeOCI(t, false)
			if kind == "tag" {
				registry = testsource.ServeOldOCI(t)
			}
			digest := pushApp(t, registry, "a")
			notarise(t, registry, "app", "1.0.0", envelope, leaf, root)
			everywhere := registry.Host() + "/app"
			for _, tc := range []struct {
				name     string
				given    map[string]string
				want     error
				wantText string
			}{
				{name: "authority", given: map[string]string{"ca.crt": inPEM(root)}},
				{name: "policy", given: map[string]string{"ca.pem": inPEM(root), "trustpolicy.json": statement("strict", everywhere, "*", nil)}},
				{name: "permissive", given: map[string]string{"ca.pem": inPEM(root), "trustpolicy.json": statement("permissive", "*", "*", map[string]string{"revocation": "skip"})}},
				{name: "another authority", given: map[string]string{"ca.crt": inPEM(stranger)}, want: fetch.ErrVerification, wantText: everywhere + "@" + digest + " has no trusted signature: of those with notation (1 found)"},
				{name: "another identity", given: map[string]string{"ca.crt": inPEM(root), "trustpolicy.json": statement("strict", "*", "x509.subject: C=US, ST=WA, O=Elsewhere", nil)}, want: fetch.ErrVerification},
				{name: "policy for other repositories", given: map[string]string{"ca.crt": inPEM(root), "trustpolicy.json": statement("strict", "example.com/other", "*", nil)}, want: fetch.ErrVerification, wantText: "no applicable trust policy"},
				{name: "policy that lets all through", given: map[string]string{"ca.crt": inPEM(root), "trustpolicy.json": statement("skip", "*", "", nil)}, want: fetch.ErrSecret, wantText: "does not enforce"},
				{name: "policy that only looks", given: map[string]string{"ca.crt": inPEM(root), "trustpolicy.json": statement("audit", "*", "*", nil)}, want: fetch.ErrSecret, wantText: "use strict or permissive"},
				{name: "policy that overrides", given: map[string]string{"ca.crt": inPEM(root), "trustpolicy.json": statement("strict", "*", "*", map[string]string{"authenticity": "log"})}, want: fetch.ErrSecret, wantText: "does not enforce authenticity"},
				{name: "odd policy", given: map[string]string{"ca.crt": inPEM(root), "trustpolicy.json": "canary"}, want: fetch.ErrSecret, wantText: "no JSON"},
				{name: "no certificates", given: map[string]string{"a.pub": "canary"}, want: fetch.ErrSecret, wantText: "found are [a.pub]"},
				{name: "odd certificate", given: map[string]string{"ca.crt": "canary"}, want: fetch.ErrSecret, wantText: "no certificate in PEM form"},
				{name: "certificate that vouches for nobody", given: map[string]string{"ca.crt": inPEM(leaf)}, want: fetch.ErrSecret, wantText: "not a CA certificate"},
				{name: "timestamps only", given: map[string]string{"tsa.crt": inPEM(root)}, want: fetch.ErrSecret, wantText: "no certificates to trust"},
			} {
				t.Run(envelope+"/"+kind+"/"+tc.name, func(t *testing.T) {
					g := NewWithT(t)
					a, err := newRig(t, fetch.Options{Secrets: secrets{"trust": tc.given}}).get(t, demanding(registry, "notation", "trust"))
					if tc.want == nil {
						g.Expect(err).NotTo(HaveOccurred())
						g.Expect(read(a, "a.yaml")).To(Equal("a"))
						return
					}
					g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
					g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary"))))
				})
			}
		}
	}
}

// TestNotationOfSomethingElse takes signatures of other artifacts for none.
func TestNotationOfSomethingElse(t *testing.T) {
	leaf, root := testhelper.GetRSALeafCertificate(), testhelper.GetRSARootCertificate()
	all := secrets{"trust": {"ca.crt": inPEM(root)}}
	t.Run("unsigned", func(t *testing.T) {
		g := NewWithT(t)
		registry := testsource.ServeOCI(t, false)
		digest := pushApp(t, registry, "a")
		_, err := newRig(t, fetch.Options{Secrets: all}).get(t, demanding(registry, "notation", "trust"))
		g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(And(ContainSubstring(registry.Host()+"/app@"+digest+" is not signed with notation"), ContainSubstring("application/vnd.cncf.notary.signature")))
	})
	t.Run("of another digest", func(t *testing.T) {
		g := NewWithT(t)
		registry := testsource.ServeOCI(t, false)
		registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "signed"})}}, "signed")
		notarise(t, registry, "app", "signed", jose, leaf, root)
		envelope := envelopes(t, registry)
		digest := pushApp(t, registry, "forged")
		registry.Refer("app", digest, "application/vnd.cncf.notary.signature", testsource.Layer{MediaType: jose, Content: envelope})
		_, err := newRig(t, fetch.Options{Secrets: all}).get(t, demanding(registry, "notation", "trust"))
		g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring("descriptor mismatch"))
	})
}

// envelopes returns the envelope that was uploaded last.
func envelopes(t *testing.T, registry *testsource.Registry) []byte {
	t.Helper()
	target, err := remote.NewRepository(registry.Host() + "/app")
	if err != nil {
		t.Fatal(err)
	}
	target.PlainHTTP = true
	repository := notationregistry.NewRepository(target)
	signed, err := repository.Resolve(t.Context(), "signed")
	if err != nil {
		t.Fatal(err)
	}
	var envelope []byte
	err = repository.ListSignatures(t.Context(), signed, func(signatures []ocispec.Descriptor) error {
		var err error
		envelope, _, err = repository.FetchSignatureBlob(t.Context(), signatures[0])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}
