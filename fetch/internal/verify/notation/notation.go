// SPDX-License-Identifier: Apache-2.0

// Package notation checks the signatures of the Notary Project.
package notation

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/notaryproject/notation-go"
	"github.com/notaryproject/notation-go/verifier"
	"github.com/notaryproject/notation-go/verifier/trustpolicy"
	"github.com/notaryproject/notation-go/verifier/truststore"
	"oras.land/oras-go/v2/registry/remote"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/keybound"
	"kumodo.io/convoy/fetch/internal/verify/attached"
)

const (
	provider = "notation"
	// artifactType is that of signatures.
	artifactType = "application/vnd.cncf.notary.signature"
	// storeName is what the policy that holds without one of the Secret calls its stores.
	storeName = "trusted"
	// maxEnvelope bounds a signature with its certificates, whose own signatures are all checked.
	maxEnvelope = 256 << 10
)

// Verifier accepts the signatures that a trust policy accepts. It is safe for concurrent use.
type Verifier struct {
	secret   string
	verifier notation.Verifier
}

// New returns the Verifier that trusts the certificates of a Secret, as far as the trust
// policy in it says; without one, whatever they vouch for. The error is fault.ErrSecret.
func New(secret string, data map[string][]byte) (*Verifier, error) {
	certificates, err := certificatesOf(secret, data)
	if err != nil {
		return nil, err
	}
	policy, err := policyOf(secret, data, len(certificates[truststore.TypeTSA]) > 0)
	if err != nil {
		return nil, err
	}
	// Without a manager of plugins, which are programs, signatures that need one are refused.
	made, err := verifier.New(policy, certificates, nil)
	if err != nil {
		return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s is no usable trust policy: %s", sourcev1alpha1.SecretKeyTrustPolicy, secret, attached.Reason(err))
	}
	return &Verifier{secret: secret, verifier: made}, nil
}

// Verify looks for a signature that is trusted. The errors are fault.ErrVerification,
// fault.ErrLimit, and those of the repository.
func (v *Verifier) Verify(ctx context.Context, repository *remote.Repository, subject attached.Subject) (string, error) {
	signatures, err := attached.Referrers(ctx, repository, subject.Descriptor, artifactType)
	switch {
	case err != nil:
		return "", err
	case len(signatures) == 0:
		return "", subject.Unsigned(provider, "there is no referrer of the type "+artifactType)
	case len(signatures) > attached.MaxSignatures:
		return "", fault.New(fault.ErrVerification, "%s has %d signatures with %s; %d are looked at, so remove what is not needed", subject, len(signatures), provider, attached.MaxSignatures)
	}
	var why error
	for _, s := range signatures {
		mediaType, envelope, err := read(ctx, repository, s)
		if err == nil {
			var signer string
			if signer, err = v.check(ctx, mediaType, envelope, subject); err == nil {
				return signer, nil
			}
		}
		if ctx.Err() != nil || !errors.Is(err, fault.ErrVerification) && !errors.Is(err, fault.ErrLimit) {
			return "", err
		}
		why = err
	}
	return "", subject.Refused(provider, len(signatures), v.secret, why)
}

// check returns the subject of the certificate that made a signature.
func (v *Verifier) check(ctx context.Context, mediaType string, envelope []byte, subject attached.Subject) (string, error) {
	if len(envelope) > maxEnvelope {
		return "", fault.New(fault.ErrVerification, "it has %s, and %s are the most that are accepted", fault.Size(int64(len(envelope))), fault.Size(maxEnvelope))
	}
	// The chain of certificates is checked before the signature is.
	if err := keybound.Check(envelope, keybound.MaxBits); err != nil {
		return "", fault.New(fault.ErrVerification, "%s", err)
	}
	outcome, err := v.verifier.Verify(ctx, subject.Descriptor, envelope, notation.VerifierVerifyOptions{ArtifactReference: subject.String(), SignatureMediaType: mediaType})
	if err == nil && (outcome == nil || outcome.Error != nil || outcome.EnvelopeContent == nil || len(outcome.EnvelopeContent.SignerInfo.CertificateChain) == 0) {
		err = errors.New("the signature has no signer")
	}
	if err != nil {
		return "", fault.New(fault.ErrVerification, "%s", attached.Reason(err))
	}
	return outcome.EnvelopeContent.SignerInfo.CertificateChain[0].Subject.String(), nil
}

// certificates are the trust stores: whatever their name, what the Secret holds.
type certificates map[truststore.Type][]*x509.Certificate

// GetCertificates returns what is trusted for a purpose.
func (c certificates) GetCertificates(_ context.Context, purpose truststore.Type, name string) ([]*x509.Certificate, error) {
	if len(c[purpose]) == 0 {
		return nil, truststore.TrustStoreError{Msg: "the Secret holds no certificates for the trust store " + string(purpose) + ":" + name}
	}
	return c[purpose], nil
}

func certificatesOf(secret string, data map[string][]byte) (certificates, error) {
	found := certificates{}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(data)), func(name string) bool {
		return !strings.HasSuffix(name, sourcev1alpha1.SecretSuffixCertificate) && !strings.HasSuffix(name, sourcev1alpha1.SecretSuffixPEM)
	})
	if err := keybound.Few(data, names); err != nil {
		return nil, fault.New(fault.ErrSecret, "the certificates of the Secret %s cannot be used: %s", secret, err)
	}
	for _, name := range names {
		list, err := parse(data[name])
		if err == nil {
			err = truststore.ValidateCertificates(list)
		}
		if err != nil {
			return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s cannot be used: %s", name, secret, attached.Reason(err))
		}
		purposes := []truststore.Type{truststore.TypeCA, truststore.TypeSigningAuthority}
		if strings.HasPrefix(name, sourcev1alpha1.SecretPrefixTSA) {
			purposes = []truststore.Type{truststore.TypeTSA}
		}
		for _, purpose := range purposes {
			found[purpose] = append(found[purpose], list...)
		}
	}
	if len(found[truststore.TypeCA]) == 0 {
		return nil, fault.New(fault.ErrSecret, "the Secret %s holds no certificates to trust: some in PEM form under names that end in %s or %s expected, found are [%s]", secret,
			sourcev1alpha1.SecretSuffixCertificate, sourcev1alpha1.SecretSuffixPEM, strings.Join(slices.Sorted(maps.Keys(data)), " "))
	}
	return found, nil
}

// parse reads certificates in PEM form.
func parse(data []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, errors.New("it holds something else than certificates")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("it holds a malformed certificate")
		}
		list = append(list, certificate)
	}
	if len(list) == 0 {
		return nil, errors.New("it holds no certificate in PEM form")
	}
	return list, nil
}

// policyOf reads the trust policy of a Secret.
func policyOf(secret string, data map[string][]byte, timestamps bool) (*trustpolicy.Document, error) {
	written, ok := data[sourcev1alpha1.SecretKeyTrustPolicy]
	if !ok {
		return standard(timestamps), nil
	}
	policy, err := readPolicy(written)
	if err != nil {
		return nil, fault.New(fault.ErrSecret, "the key %s of the Secret %s is no usable trust policy: %s", sourcev1alpha1.SecretKeyTrustPolicy, secret, attached.Reason(err))
	}
	return policy, nil
}
