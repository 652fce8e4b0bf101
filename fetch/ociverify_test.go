// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
	"kumodo.io/convoy/fetch/internal/testsource/signer"
)

// demanding is a Want of repository app in a registry that demands signatures.
func demanding(registry *testsource.Registry, provider, secret string, identities ...sourcev1alpha1.OIDCIdentity) fetch.Want {
	want := ociWant("oci://"+registry.Host(), "", artifactRef("app", corev1alpha1.OCIRef{Tag: "1.0.0"}))
	want.Source.(*sourcev1alpha1.OCIRegistry).Spec.Verify = &sourcev1alpha1.OCIVerification{Provider: provider, SecretRef: ref(secret), MatchOIDCIdentity: identities}
	return want
}

// pushApp uploads an artifact of one file.
func pushApp(t *testing.T, registry *testsource.Registry, content string) (digest string) {
	t.Helper()
	return registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": content})}}, "1.0.0")
}

// keys are of all the kinds that cosign makes or imports.
func keys(t *testing.T) map[string]crypto.Signer {
	t.Helper()
	made := map[string]crypto.Signer{}
	for name, make := range map[string]func() (crypto.Signer, error){
		"ECDSA P-256": func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) },
		"ECDSA P-384": func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P384(), rand.Reader) },
		"RSA":         func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 2048) },
		"Ed25519": func() (crypto.Signer, error) {
			_, key, err := ed25519.GenerateKey(rand.Reader)
			return key, err
		},
	} {
		key, err := make()
		if err != nil {
			t.Fatal(err)
		}
		made[name] = key
	}
	return made
}

func TestCosignWithKeys(t *testing.T) {
	other := signer.Key(t)
	for name, key := range keys(t) {
		registry := testsource.ServeOCI(t, false)
		digest := pushApp(t, registry, "a")
		payload := signer.Payload(t, registry.Host()+"/app", digest)
		all := secrets{"keys": {"a.pub": signer.Public(t, other), "b.pub": signer.Public(t, key)}}
		for form, layer := range map[string]testsource.Layer{
			"tag":    signer.Simple(t, key, payload),
			"bundle": signer.Bundle(t, key, signer.Statement(t, digest, signer.SignPredicate)),
		} {
			t.Run(name+"/"+form, func(t *testing.T) {
				g := NewWithT(t)
				registry := testsource.ServeOCI(t, false)
				g.Expect(pushApp(t, registry, "a")).To(Equal(digest))
				if form == "tag" {
					layer = signer.Simple(t, key, signer.Payload(t, registry.Host()+"/app", digest))
					registry.Push("app", []testsource.Layer{layer}, signer.Tag(digest))
				} else {
					registry.Refer("app", digest, signer.BundleType, layer)
				}
				a, err := newRig(t, fetch.Options{Secrets: all}).get(t, demanding(registry, "cosign", "keys"))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(read(a, "a.yaml")).To(Equal("a"))
			})
		}
	}
}

// TestCosignRefuses lets nothing through that is not signed as demanded.
func TestCosignRefuses(t *testing.T) {
	key, other := signer.Key(t), signer.Key(t)
	all := secrets{"keys": {"cosign.pub": signer.Public(t, key)}, "none": {"x": "y"}, "odd": {"cosign.pub": "canary"},
		"private": {"cosign.pub": "-----BEGIN PRIVATE KEY-----\nY2FuYXJ5\n-----END PRIVATE KEY-----\n"}}
	const elsewhere = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for _, tc := range []struct {
		name     string
		secret   string
		tagged   func(host, digest string) []testsource.Layer
		referred func(host, digest string) []testsource.Layer
		want     error
		wantText string
	}{
		{name: "not signed", wantText: "is not signed with cosign, and spec.verify demands it: there is neither the tag sha256-"},
		{name: "by another key", tagged: func(host, digest string) []testsource.Layer {
			return []testsource.Layer{signer.Simple(t, other, signer.Payload(t, host+"/app", digest))}
		}, wantText: "has no trusted signature: of those with cosign (1 found)"},
		{name: "of another digest", tagged: func(host, _ string) []testsource.Layer {
			return []testsource.Layer{signer.Simple(t, key, signer.Payload(t, host+"/app", elsewhere))}
		}, wantText: `the signature is of "` + elsewhere},
		{name: "for another repository", tagged: func(host, digest string) []testsource.Layer {
			return []testsource.Layer{signer.Simple(t, key, signer.Payload(t, host+"/other", digest))}
		}, wantText: "/other"},
		{name: "for another registry", tagged: func(_, digest string) []testsource.Layer {
			return []testsource.Layer{signer.Simple(t, key, signer.Payload(t, "elsewhere.test/app", digest))}
		}, wantText: "elsewhere.test/app"},
		{name: "payload of another kind", tagged: func(string, string) []testsource.Layer {
			return []testsource.Layer{signer.Simple(t, key, []byte(`{"critical":{"type":"something"}}`))}
		}, wantText: `a "something"`},
		{name: "payload changed", tagged: func(host, digest string) []testsource.Layer {
			layer := signer.Simple(t, key, signer.Payload(t, host+"/app", elsewhere))
			layer.Content = signer.Payload(t, host+"/app", digest)
			return []testsource.Layer{layer}
		}},
		{name: "no signature", tagged: func(host, digest string) []testsource.Layer {
			return []testsource.Layer{{MediaType: signer.SimpleSigning, Content: signer.Payload(t, host+"/app", digest)}}
		}, wantText: "no signature in its annotation"},
		{name: "bundle of another digest", referred: func(string, string) []testsource.Layer {
			return []testsource.Layer{signer.Bundle(t, key, signer.Statement(t, elsewhere, signer.SignPredicate))}
		}},
		{name: "bundle by another key", referred: func(_, digest string) []testsource.Layer {
			return []testsource.Layer{signer.Bundle(t, other, signer.Statement(t, digest, signer.SignPredicate))}
		}},
		{name: "attestation", referred: func(_, digest string) []testsource.Layer {
			return []testsource.Layer{signer.Bundle(t, key, signer.Statement(t, digest, "https://slsa.dev/provenance/v1"))}
		}, wantText: "an attestation of the type https://slsa.dev/provenance/v1"},
		{name: "malformed bundle", referred: func(string, string) []testsource.Layer {
			return []testsource.Layer{{MediaType: signer.BundleType, Content: []byte(`{"mediaType":`)}}
		}, wantText: "the bundle is malformed"},
		{name: "two of them", tagged: func(host, digest string) []testsource.Layer {
			return []testsource.Layer{signer.Simple(t, other, signer.Payload(t, host+"/app", digest)), signer.Simple(t, other, signer.Payload(t, host+"/app", elsewhere))}
		}, wantText: "(2 found)"},
		{name: "no keys", secret: "none", want: fetch.ErrSecret, wantText: "end in .pub expected, found are [x]"},
		{name: "odd key", secret: "odd", want: fetch.ErrSecret, wantText: "no public key in PEM form"},
		{name: "private key", secret: "private", want: fetch.ErrSecret, wantText: "no public key of the PEM type"},
		{name: "no Secret", secret: "absent", want: fetch.ErrSecretNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			registry := testsource.ServeOCI(t, false)
			digest := pushApp(t, registry, "a")
			if tc.tagged != nil {
				registry.Push("app", tc.tagged(registry.Host(), digest), signer.Tag(digest))
			}
			if tc.referred != nil {
				registry.Refer("app", digest, signer.BundleType, tc.referred(registry.Host(), digest)...)
			}
			if tc.secret == "" {
				tc.secret = "keys"
			}
			if tc.want == nil {
				tc.want = fetch.ErrVerification
			}
			want := demanding(registry, "cosign", tc.secret)
			_, err := newRig(t, fetch.Options{Secrets: all}).get(t, want)
			g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary"))))
			if tc.want == fetch.ErrVerification {
				g.Expect(err.Error()).To(And(ContainSubstring(registry.Host()+"/app@"+digest), ContainSubstring("sign it")))
				g.Expect(errors.Is(err, fetch.ErrContent)).To(BeFalse(), "it can be signed later")
			}
		})
	}
}

// TestCosignAmongOthers finds the good signature behind bad ones, in both kinds of registry.
func TestCosignAmongOthers(t *testing.T) {
	key, other := signer.Key(t), signer.Key(t)
	all := secrets{"keys": {"cosign.pub": signer.Public(t, key)}}
	t.Run("referrers", func(t *testing.T) {
		g := NewWithT(t)
		registry := testsource.ServeOCI(t, false)
		digest := pushApp(t, registry, "a")
		registry.Push("app", []testsource.Layer{signer.Simple(t, other, signer.Payload(t, registry.Host()+"/app", digest))}, signer.Tag(digest))
		registry.Refer("app", digest, "application/spdx+json", testsource.Layer{MediaType: "application/spdx+json", Content: []byte("{}")})
		registry.Refer("app", digest, signer.BundleType, signer.Bundle(t, other, signer.Statement(t, digest, signer.SignPredicate)))
		registry.Refer("app", digest, signer.SimpleType, signer.Simple(t, key, signer.Payload(t, registry.Host()+"/app", digest)))
		_, err := newRig(t, fetch.Options{Secrets: all}).get(t, demanding(registry, "cosign", "keys"))
		g.Expect(err).NotTo(HaveOccurred())
	})
	t.Run("referrers listed under a tag", func(t *testing.T) {
		g := NewWithT(t)
		registry := testsource.ServeOldOCI(t)
		inner := registry.Config.Handler
		registry.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/referrers/") {
				http.Error(w, "no", http.StatusMethodNotAllowed)
				return
			}
			inner.ServeHTTP(w, r)
		})
		digest := pushApp(t, registry, "a")
		bundle := registry.Refer("app", digest, signer.BundleType, signer.Bundle(t, key, signer.Statement(t, digest, signer.SignPredicate)))
		listed := registry.Describe(bundle)
		listed["artifactType"] = signer.BundleType
		registry.Manifest("app", "application/vnd.oci.image.index.v1+json", indexWith(t, listed), strings.Replace(digest, ":", "-", 1))
		_, err := newRig(t, fetch.Options{Secrets: all}).get(t, demanding(registry, "cosign", "keys"))
		g.Expect(err).NotTo(HaveOccurred())
	})
}

// TestSignatureThatIsNotThere tells a registry that cannot be asked from one without signature.
func TestSignatureThatIsNotThere(t *testing.T) {
	key := signer.Key(t)
	all := secrets{"keys": {"cosign.pub": signer.Public(t, key)}}
	for _, tc := range []struct {
		name   string
		answer func(w http.ResponseWriter, size int)
		want   error
	}{
		{"missing", func(w http.ResponseWriter, _ int) { http.Error(w, "no", http.StatusNotFound) }, fetch.ErrVerification},
		{"other content", func(w http.ResponseWriter, size int) { _, _ = w.Write(bytes.Repeat([]byte(" "), size)) }, fetch.ErrVerification},
		{"an error of the registry", func(w http.ResponseWriter, _ int) { http.Error(w, "no", http.StatusInternalServerError) }, fetch.ErrUnreachable},
		{"forbidden", func(w http.ResponseWriter, _ int) { http.Error(w, "no", http.StatusForbidden) }, fetch.ErrUnauthorized},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			registry := testsource.ServeOCI(t, false)
			digest := pushApp(t, registry, "a")
			payload := signer.Payload(t, registry.Host()+"/app", digest)
			registry.Push("app", []testsource.Layer{signer.Simple(t, key, payload)}, signer.Tag(digest))
			inner := registry.Config.Handler
			registry.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/blobs/sha256:"+testsource.SHA256(payload)) {
					tc.answer(w, len(payload))
					return
				}
				inner.ServeHTTP(w, r)
			})
			_, err := newRig(t, fetch.Options{Secrets: all}).get(t, demanding(registry, "cosign", "keys"))
			g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			if tc.want != fetch.ErrVerification {
				g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeFalse(), "%v", err)
			}
		})
	}
}

// TestVerifiedOnce checks a signature once for a digest and what is trusted, and again when
// something else is trusted.
func TestVerifiedOnce(t *testing.T) {
	g := NewWithT(t)
	key := signer.Key(t)
	registry := testsource.ServeOCI(t, false)
	all := secrets{"keys": {"cosign.pub": signer.Public(t, key)}}
	// The content does not stay, and what was found out about it does.
	large := strings.Repeat("a", 1<<20)
	digest := pushApp(t, registry, large)
	r := newRig(t, fetch.Options{Secrets: all, CacheBytes: 1 << 19})
	want := demanding(registry, "cosign", "keys")
	open := demanding(registry, "cosign", "keys")
	open.Source.(*sourcev1alpha1.OCIRegistry).Spec.Verify = nil
	held, err := r.get(t, open)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = r.get(t, want)
	g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "that content is held is no reason to hand it out: %v", err)
	runtime.KeepAlive(held)
	registry.Push("app", []testsource.Layer{signer.Simple(t, key, signer.Payload(t, registry.Host()+"/app", digest))}, signer.Tag(digest))
	_, err = r.get(t, want)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Stats().Bytes).To(BeZero())
	runtime.GC() // what is still in use is still found
	before := r.Stats().Fetches
	registry.Config.Handler = nothingAt("/manifests/sha256-", registry.Config.Handler)
	_, err = r.get(t, want)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Stats().Fetches).To(Equal(before+1), "the content was fetched again")
	all["keys"]["cosign.pub"] = signer.Public(t, signer.Key(t))
	_, err = r.get(t, want)
	g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
}

func TestCosignKeyless(t *testing.T) {
	const ci, issuer = "ci@example.com", "https://issuer.example.com"
	identity := sourcev1alpha1.OIDCIdentity{Issuer: "https://issuer\\.example\\.com", Subject: "ci@example\\.com"}
	deployment, foreign := signer.NewSigstore(t), signer.NewSigstore(t)
	key := signer.Key(t)
	all := secrets{
		"root":        {"trusted_root.json": deployment.TrustedRoot(signer.Parts{})},
		"log":         {"trusted_root.json": deployment.TrustedRoot(signer.Parts{NoTimestamps: true})},
		"timestamps":  {"trusted_root.json": deployment.TrustedRoot(signer.Parts{NoLog: true})},
		"neither":     {"trusted_root.json": deployment.TrustedRoot(signer.Parts{NoLog: true, NoTimestamps: true})},
		"certificate": {"trusted_root.json": deployment.TrustedRoot(signer.Parts{CertificateLog: true})},
		"foreign":     {"trusted_root.json": foreign.TrustedRoot(signer.Parts{})},
		"key":         {"cosign.pub": signer.Public(t, key)},
		"both":        {"cosign.pub": signer.Public(t, key), "trusted_root.json": deployment.TrustedRoot(signer.Parts{})},
		"odd":         {"trusted_root.json": "canary"},
	}
	for _, form := range []string{"tag", "bundle"} {
		registry := testsource.ServeOCI(t, false)
		digest := pushApp(t, registry, "a")
		if form == "tag" {
			registry.Push("app", []testsource.Layer{deployment.Simple(ci, issuer, signer.Payload(t, registry.Host()+"/app", digest))}, signer.Tag(digest))
		} else {
			registry.Refer("app", digest, signer.BundleType, deployment.Bundle(ci, issuer, signer.Statement(t, digest, signer.SignPredicate)))
		}
		for _, tc := range []struct {
			name, secret string
			identities   []sourcev1alpha1.OIDCIdentity
			want         error
			wantText     string
		}{
			{name: "log and timestamps", secret: "root"},
			{name: "log", secret: "log"},
			{name: "timestamps", secret: "timestamps"},
			{name: "one of several", secret: "root", identities: []sourcev1alpha1.OIDCIdentity{{Issuer: "x", Subject: "y"}, identity}},
			{name: "another subject", secret: "root", identities: []sourcev1alpha1.OIDCIdentity{{Issuer: identity.Issuer, Subject: "cd@example\\.com"}}, want: fetch.ErrVerification, wantText: "cd@"},
			{name: "a part of the subject", secret: "root", identities: []sourcev1alpha1.OIDCIdentity{{Issuer: identity.Issuer, Subject: "ci@example"}}, want: fetch.ErrVerification},
			{name: "another issuer", secret: "root", identities: []sourcev1alpha1.OIDCIdentity{{Issuer: "https://other", Subject: identity.Subject}}, want: fetch.ErrVerification, wantText: "issuer"},
			{name: "another deployment", secret: "foreign", want: fetch.ErrVerification},
			{name: "no proof by the log of certificates", secret: "certificate", want: fetch.ErrVerification},
			{name: "nothing that proves the time", secret: "neither", want: fetch.ErrSecret, wantText: "neither transparency logs nor timestamp authorities"},
			{name: "no root", secret: "key", want: fetch.ErrSecret, wantText: "take one of them out"},
			{name: "odd root", secret: "odd", want: fetch.ErrSecret, wantText: "no trusted root of Sigstore"},
			{name: "key and identities", secret: "both", want: fetch.ErrSecret, wantText: "take one of them out"},
		} {
			t.Run(form+"/"+tc.name, func(t *testing.T) {
				g := NewWithT(t)
				if tc.identities == nil {
					tc.identities = []sourcev1alpha1.OIDCIdentity{identity}
				}
				_, err := newRig(t, fetch.Options{Secrets: all}).get(t, demanding(registry, "cosign", tc.secret, tc.identities...))
				if tc.want == nil {
					g.Expect(err).NotTo(HaveOccurred())
					return
				}
				g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(And(ContainSubstring(tc.wantText), Not(ContainSubstring("canary"))))
			})
		}
		t.Run(form+"/a key's verifier takes no certificate", func(t *testing.T) {
			_, err := newRig(t, fetch.Options{Secrets: all}).get(t, demanding(registry, "cosign", "key"))
			NewWithT(t).Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
		})
	}
	t.Run("what one source accepts is not given to another", func(t *testing.T) {
		g := NewWithT(t)
		registry := testsource.ServeOCI(t, false)
		digest := pushApp(t, registry, "a")
		registry.Push("app", []testsource.Layer{deployment.Simple(ci, issuer, signer.Payload(t, registry.Host()+"/app", digest))}, signer.Tag(digest))
		r := newRig(t, fetch.Options{Secrets: all})
		held, err := r.get(t, demanding(registry, "cosign", "root", identity))
		g.Expect(err).NotTo(HaveOccurred())
		_, err = r.get(t, demanding(registry, "cosign", "root", sourcev1alpha1.OIDCIdentity{Issuer: identity.Issuer, Subject: "cd@example\\.com"}))
		g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
		runtime.KeepAlive(held)
	})
	t.Run("a key whose signatures must be in a log", func(t *testing.T) {
		g := NewWithT(t)
		registry := testsource.ServeOCI(t, false)
		digest := pushApp(t, registry, "a")
		registry.Push("app", []testsource.Layer{signer.Simple(t, key, signer.Payload(t, registry.Host()+"/app", digest))}, signer.Tag(digest))
		_, err := newRig(t, fetch.Options{Secrets: all}).get(t, demanding(registry, "cosign", "both"))
		g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
		g.Expect(err.Error()).To(ContainSubstring("log"))
	})
}

// TestVerifiedIndex takes the signature of what the revision names, which is the index.
func TestVerifiedIndex(t *testing.T) {
	key := signer.Key(t)
	all := secrets{"keys": {"cosign.pub": signer.Public(t, key)}}
	for _, signed := range []string{"index", "manifest"} {
		t.Run(signed, func(t *testing.T) {
			g := NewWithT(t)
			registry := testsource.ServeOCI(t, false)
			one := registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}})
			index := registry.Manifest("app", "application/vnd.oci.image.index.v1+json", indexWith(t, registry.Describe(one)), "1.0.0")
			digest := map[string]string{"index": index, "manifest": one}[signed]
			registry.Push("app", []testsource.Layer{signer.Simple(t, key, signer.Payload(t, registry.Host()+"/app", digest))}, signer.Tag(digest))
			_, err := newRig(t, fetch.Options{Secrets: all}).get(t, demanding(registry, "cosign", "keys"))
			if signed == "index" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(errors.Is(err, fetch.ErrVerification)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(fmt.Sprintf("app@%s is not signed", index)))
		})
	}
}

func TestVerificationThatIsConfiguredWrongly(t *testing.T) {
	registry := testsource.ServeOCI(t, false)
	identity := sourcev1alpha1.OIDCIdentity{Issuer: "x", Subject: "y"}
	for _, tc := range []struct {
		name  string
		given sourcev1alpha1.OCIVerification
	}{
		{"no Secret", sourcev1alpha1.OCIVerification{Provider: "cosign", MatchOIDCIdentity: []sourcev1alpha1.OIDCIdentity{identity}}},
		{"no provider", sourcev1alpha1.OCIVerification{SecretRef: ref("keys")}},
		{"identities with notation", sourcev1alpha1.OCIVerification{Provider: "notation", SecretRef: ref("keys"), MatchOIDCIdentity: []sourcev1alpha1.OIDCIdentity{identity}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := demanding(registry, "", "")
			want.Source.(*sourcev1alpha1.OCIRegistry).Spec.Verify = &tc.given
			_, err := newRig(t, fetch.Options{Secrets: secrets{"keys": {"a.pub": ""}}}).Check(t.Context(), "team", want.Source)
			NewWithT(t).Expect(errors.Is(err, fetch.ErrInvalid)).To(BeTrue(), "%v", err)
		})
	}
}
