// SPDX-License-Identifier: Apache-2.0

// Package signer makes signatures of artifacts for tests, with the libraries of those who
// define them where there are any.
package signer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	"kumodo.io/convoy/fetch/internal/testsource"
)

// Media types and names of cosign.
const (
	SimpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json"
	SimpleType    = "application/vnd.dev.cosign.artifact.sig.v1+json"
	BundleType    = "application/vnd.dev.sigstore.bundle.v0.3+json"
	SignPredicate = "https://sigstore.dev/cosign/sign/v1"
)

// Payload is what cosign signs for an image.
func Payload(t testing.TB, reference, digest string) []byte {
	t.Helper()
	return marshal(t, map[string]any{
		"critical": map[string]any{
			"identity": map[string]any{"docker-reference": reference},
			"image":    map[string]any{"docker-manifest-digest": digest},
			"type":     "cosign container image signature",
		},
		"optional": nil,
	})
}

// Statement is what newer versions of cosign sign.
func Statement(t testing.TB, digest, predicateType string) []byte {
	t.Helper()
	algorithm, hex, _ := strings.Cut(digest, ":")
	return marshal(t, map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "predicateType": predicateType, "predicate": map[string]any{},
		"subject": []any{map[string]any{"digest": map[string]any{algorithm: hex}}},
	})
}

// Tag returns the tag of the signatures of a digest.
func Tag(digest string) string { return strings.Replace(digest, ":", "-", 1) + ".sig" }

// Simple is a layer with a payload and its signature.
func Simple(t testing.TB, key crypto.Signer, payload []byte) testsource.Layer {
	t.Helper()
	return testsource.Layer{MediaType: SimpleSigning, Content: payload, Annotations: map[string]string{
		"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(Sign(t, key, payload)),
	}}
}

// Sign signs with SHA-256, or as Ed25519 does.
func Sign(t testing.TB, key crypto.Signer, data []byte) []byte {
	t.Helper()
	hash, message := crypto.SHA256, data
	if _, ok := key.(ed25519.PrivateKey); ok {
		hash = crypto.Hash(0)
	} else {
		h := hash.New()
		h.Write(data)
		message = h.Sum(nil)
	}
	signature, err := key.Sign(rand.Reader, message, hash)
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

// Bundle is a layer with a bundle of a statement, signed with a key.
func Bundle(t testing.TB, key crypto.Signer, statement []byte) testsource.Layer {
	t.Helper()
	const payloadType = "application/vnd.in-toto+json"
	return testsource.Layer{MediaType: BundleType, Content: marshal(t, map[string]any{
		"mediaType":            BundleType,
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "any"}},
		"dsseEnvelope": map[string]any{
			"payload": base64.StdEncoding.EncodeToString(statement), "payloadType": payloadType,
			"signatures": []any{map[string]any{"sig": base64.StdEncoding.EncodeToString(Sign(t, key, preAuthentication(payloadType, statement)))}},
		},
	})}
}

// Blob is a layer with a bundle of the signature of a file, as cosign sign-blob makes it.
func Blob(t testing.TB, key crypto.Signer, file []byte) testsource.Layer {
	t.Helper()
	digest := sha256.Sum256(file)
	return testsource.Layer{MediaType: BundleType, Content: marshal(t, map[string]any{
		"mediaType":            BundleType,
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "any"}},
		"messageSignature": map[string]any{
			"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": base64.StdEncoding.EncodeToString(digest[:])},
			"signature":     base64.StdEncoding.EncodeToString(Sign(t, key, file)),
		},
	})}
}

// Public is the public key in PEM form.
func Public(t testing.TB, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// Key makes one, or fails.
func Key(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
