// SPDX-License-Identifier: Apache-2.0

package cosign

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	sigstore "github.com/sigstore/sigstore/pkg/signature"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/keybound"
)

// minRSA is the shortest RSA key that is trusted, in bits.
const minRSA = 2048

// trusted is a key, or the identities that a trusted root vouches for.
type trusted struct {
	// name of the key; empty for identities.
	name     string
	verifier *verify.Verifier
	policy   []verify.PolicyOption
}

// signer names who made a signature.
func (t trusted) signer(result *verify.VerificationResult) string {
	if t.name == "" && result.Signature != nil && result.Signature.Certificate != nil {
		return result.Signature.Certificate.SubjectAlternativeName
	}
	return t.name
}

// trust reads what a Secret trusts.
func trust(identities []sourcev1alpha1.OIDCIdentity, secret string, data map[string][]byte) ([]trusted, error) {
	given, rooted := data[sourcev1alpha1.SecretKeyTrustedRoot]
	var vouches *root.TrustedRoot
	if rooted {
		var err error
		if vouches, err = root.NewTrustedRootFromJSON(given); err != nil {
			return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s is no trusted root of Sigstore in JSON", sourcev1alpha1.SecretKeyTrustedRoot, secret)
		}
	}
	names := slices.Sorted(maps.Keys(data))
	keys := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasSuffix(name, sourcev1alpha1.SecretSuffixPublicKey) })
	switch {
	case len(identities) > 0 && len(keys) > 0:
		return nil, fault.New(fault.ErrSecret, "the Secret %s holds the public key %s, and spec.verify.matchOIDCIdentity asks for keyless signatures; take one of them out", secret, keys[0])
	case len(identities) > 0 && !rooted:
		return nil, fault.New(fault.ErrSecret, "the Secret %s has no key %s, which says what vouches for the identities of spec.verify.matchOIDCIdentity; found are [%s]", secret, sourcev1alpha1.SecretKeyTrustedRoot, strings.Join(names, " "))
	case len(identities) > 0:
		t, err := keyless(identities, secret, vouches)
		return []trusted{t}, err
	case len(keys) == 0:
		return nil, fault.New(fault.ErrSecret, "the Secret %s holds no keys to trust: public keys under names that end in %s expected, found are [%s]", secret, sourcev1alpha1.SecretSuffixPublicKey, strings.Join(names, " "))
	}
	if err := keybound.Few(data, keys); err != nil {
		return nil, fault.New(fault.ErrSecret, "the keys of the Secret %s that end in %s cannot be used: %s", secret, sourcev1alpha1.SecretSuffixPublicKey, err)
	}
	var list []trusted
	for _, name := range keys {
		some, err := keyed(name, data[name], vouches)
		if err != nil {
			return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s cannot be used: %s", name, secret, err.Error())
		}
		list = append(list, some...)
	}
	return list, nil
}

// keyless trusts identities. Whatever the root knows of, a transparency log, a log of
// certificates, has to vouch for a signature; when it was made has to be proven.
func keyless(identities []sourcev1alpha1.OIDCIdentity, secret string, vouches *root.TrustedRoot) (trusted, error) {
	options := []verify.VerifierOption{verify.WithoutStatementPredicate(), verify.WithObserverTimestamps(1)}
	switch {
	case len(vouches.FulcioCertificateAuthorities()) == 0:
		return trusted{}, fault.New(fault.ErrSecret, "the trusted root in the Secret %s has no certificate authorities", secret)
	case len(vouches.RekorLogs()) > 0:
		options = append(options, verify.WithTransparencyLog(1))
	case len(vouches.TimestampingAuthorities()) == 0:
		return trusted{}, fault.New(fault.ErrSecret, "the trusted root in the Secret %s has neither transparency logs nor timestamp authorities, so that nothing proves when a signature was made", secret)
	}
	if len(vouches.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	t := trusted{}
	for _, identity := range identities {
		if !isExpression(identity.Issuer) || !isExpression(identity.Subject) {
			return t, fault.New(fault.ErrInvalid, "spec.verify.matchOIDCIdentity: issuer and subject must be regular expressions")
		}
		// A part of an identity can be chosen by anybody.
		one, err := verify.NewShortCertificateIdentity("", whole(identity.Issuer), "", whole(identity.Subject))
		if err != nil {
			return t, fault.New(fault.ErrInvalid, "spec.verify.matchOIDCIdentity: %q and %q cannot be used as issuer and subject", identity.Issuer, identity.Subject)
		}
		t.policy = append(t.policy, verify.WithCertificateIdentity(one))
	}
	var err error
	if t.verifier, err = verify.NewVerifier(vouches, options...); err != nil {
		return t, fault.New(fault.ErrSecret, "the trusted root in the Secret %s cannot be used", secret)
	}
	return t, nil
}

// isExpression says whether a text is an expression by itself: one that is none can be one of
// another meaning together with what is put around it.
func isExpression(text string) bool {
	_, err := regexp.Compile(text)
	return err == nil && text != ""
}

// whole makes an expression match nothing but the whole text.
func whole(expression string) string { return `\A(?:` + expression + `)\z` }

// keyed trusts the public keys of one entry. With a root, its transparency log has to vouch
// for a signature too.
func keyed(name string, data []byte, vouches *root.TrustedRoot) ([]trusted, error) {
	var list []trusted
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil || block.Type != "PUBLIC KEY" {
			return nil, errors.New("it is no public key of the PEM type PUBLIC KEY")
		}
		hashes, err := hashesOf(key)
		if err != nil {
			return nil, err
		}
		for _, hash := range hashes {
			t, err := withKey(name, key, hash, vouches)
			if err != nil {
				return nil, err
			}
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("it holds no public key in PEM form")
	}
	return list, nil
}

// hashesOf returns what is signed with a key: cosign takes SHA-256 whatever the key, its newer
// versions what fits the curve.
func hashesOf(key crypto.PublicKey) ([]crypto.Hash, error) {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		switch size := key.Curve.Params().BitSize; {
		case size < 256:
			return nil, errors.New("the curve is too small")
		case size > 384:
			return []crypto.Hash{crypto.SHA256, crypto.SHA512}, nil
		case size > 256:
			return []crypto.Hash{crypto.SHA256, crypto.SHA384}, nil
		}
		return []crypto.Hash{crypto.SHA256}, nil
	case *rsa.PublicKey:
		if key.N.BitLen() < minRSA {
			return nil, errors.New("the RSA key has fewer than 2048 bits")
		}
		return []crypto.Hash{crypto.SHA256}, keybound.Bits(key.N.BitLen(), keybound.MaxBits)
	case ed25519.PublicKey:
		return []crypto.Hash{crypto.SHA512}, nil
	}
	return nil, errors.New("it is neither an ECDSA nor an RSA nor an Ed25519 key")
}

func withKey(name string, key crypto.PublicKey, hash crypto.Hash, vouches *root.TrustedRoot) (trusted, error) {
	verifier, err := sigstore.LoadVerifier(key, hash)
	if err != nil {
		return trusted{}, errors.New("the key is of a kind that is not supported")
	}
	expiring := root.NewExpiringKey(verifier, time.Time{}, time.Time{})
	material := root.TrustedMaterialCollection{root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) { return expiring, nil })}
	options := []verify.VerifierOption{verify.WithoutStatementPredicate(), verify.WithNoObserverTimestamps()}
	if vouches != nil {
		material = append(material, vouches)
		options = append(options, verify.WithTransparencyLog(1))
	}
	t := trusted{name: name, policy: []verify.PolicyOption{verify.WithKey()}}
	t.verifier, err = verify.NewVerifier(material, options...)
	return t, err
}
