// SPDX-License-Identifier: Apache-2.0

// Package cosign checks the signatures of cosign, made with a key or with a certificate of
// short life for an identity (keyless), in both forms that there are: images under the tag
// sha256-<hex digits>.sig, and Sigstore bundles that refer to the artifact.
package cosign

import (
	"bytes"
	"context"
	"errors"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/keybound"
	"kumodo.io/convoy/fetch/internal/verify/attached"
)

const (
	provider = "cosign"
	// simpleSigning is the media type of a layer with a signed payload.
	simpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json"
	// simpleArtifact is the type of artifact of such layers that refer to what is signed.
	simpleArtifact = "application/vnd.dev.cosign.artifact.sig.v1+json"
	// bundleArtifact is that of Sigstore bundles, and the media type of their layer.
	bundleArtifact = "application/vnd.dev.sigstore.bundle.v0.3+json"
	// signPredicate is the type of the statement that an artifact is signed. Other
	// statements say other things of it, such as what it was found to be infected with.
	signPredicate = "https://sigstore.dev/cosign/sign/v1"
)

// Verifier accepts the signatures of some keys or identities. It is safe for concurrent use.
type Verifier struct {
	secret  string
	trusted []trusted
}

// New returns the Verifier that trusts the public keys of a Secret, or, with identities, what
// the trusted root in it vouches for. The errors are fault.ErrSecret and fault.ErrInvalid.
func New(identities []sourcev1alpha1.OIDCIdentity, secret string, data map[string][]byte) (*Verifier, error) {
	list, err := trust(identities, secret, data)
	return &Verifier{secret: secret, trusted: list}, err
}

// signature is one that was found.
type signature struct {
	entity *bundle.Bundle
	// payload is what was signed; nil for a bundle, whose statement is about the manifest itself.
	payload []byte
}

// Verify looks for a signature that is trusted: under the tag, then among what refers to the
// subject. The errors are fault.ErrVerification, fault.ErrLimit, and those of the repository.
func (v *Verifier) Verify(ctx context.Context, repository *remote.Repository, subject attached.Subject) (string, error) {
	s := search{verifier: v, repository: repository, subject: subject}
	tag := strings.Replace(subject.Descriptor.Digest.String(), ":", "-", 1) + ".sig"
	if (registry.Reference{Reference: tag}).ValidateReferenceAsTag() == nil {
		manifest, err := attached.Tagged(ctx, repository, tag)
		if err = s.note(err); err != nil {
			return "", err
		}
		if manifest != nil {
			if signer, err := s.layers(ctx, manifest.Layers); signer != "" || err != nil {
				return signer, err
			}
		}
	}
	referrers, err := attached.Referrers(ctx, repository, subject.Descriptor, bundleArtifact, simpleArtifact)
	if err != nil {
		return "", err
	}
	for _, r := range referrers {
		manifest, err := attached.Manifest(ctx, repository, r)
		if err = s.note(err); err != nil {
			return "", err
		}
		if manifest == nil {
			continue
		}
		if signer, err := s.layers(ctx, manifest.Layers); signer != "" || err != nil {
			return signer, err
		}
	}
	if s.seen == 0 {
		return "", subject.Unsigned(provider, "there is neither the tag "+tag+" nor a referrer of the type "+bundleArtifact)
	}
	return "", subject.Refused(provider, s.seen, v.secret, s.why)
}

// search is one look for a signature.
type search struct {
	verifier   *Verifier
	repository *remote.Repository
	subject    attached.Subject
	// seen counts signatures that were not accepted, and why is what was wrong with the last.
	seen int
	why  error
}

// note takes down what is wrong with one signature, and gives back what ends the search.
func (s *search) note(err error) error {
	if errors.Is(err, fault.ErrVerification) || errors.Is(err, fault.ErrLimit) {
		s.seen++
		s.why = err
		return nil
	}
	return err
}

// layers tries the signatures of a manifest, and returns who made the first that is good.
func (s *search) layers(ctx context.Context, layers []ocispec.Descriptor) (signer string, err error) {
	for _, layer := range layers {
		if layer.MediaType != simpleSigning && layer.MediaType != bundleArtifact {
			continue
		}
		if s.seen >= attached.MaxSignatures {
			return "", fault.New(fault.ErrVerification, "the first %d signatures of %s are not accepted, and more are not looked at; remove what is not needed", s.seen, s.subject)
		}
		data, err := attached.Blob(ctx, s.repository, layer)
		if err == nil {
			signer, err = s.verifier.check(layer, data, s.subject)
		}
		if err = s.note(err); signer != "" || err != nil {
			return signer, err
		}
	}
	return "", nil
}

// check returns who made the signature in a layer. The error is fault.ErrVerification.
func (v *Verifier) check(layer ocispec.Descriptor, data []byte, subject attached.Subject) (string, error) {
	found, err := signature{}, bounded(layer, data)
	if err == nil {
		found, err = read(layer, data)
	}
	if err == nil && found.payload != nil {
		err = claims(found.payload, subject)
	}
	if err != nil {
		return "", fault.New(fault.ErrVerification, "%s", attached.Reason(err))
	}
	artifact := subject.Manifest
	if found.payload != nil {
		artifact = found.payload
	}
	for _, t := range v.trusted {
		var result *verify.VerificationResult
		result, err = t.verify(found.entity, artifact)
		if err == nil {
			err = signs(result)
		}
		if err == nil {
			return t.signer(result), nil
		}
	}
	reason := attached.Reason(err)
	if v.trusted[0].name != "" {
		reason = "none of the trusted keys made it: " + reason
	}
	return "", fault.New(fault.ErrVerification, "%s", reason)
}

// bounded refuses what brings keys, in certificates and the like, that cost too much to use.
func bounded(layer ocispec.Descriptor, data []byte) error {
	if layer.MediaType != simpleSigning {
		return keybound.Check(data, keybound.MaxBits)
	}
	for _, name := range []string{annotationCertificate, annotationLog, annotationTimestamp} {
		if err := keybound.Check([]byte(layer.Annotations[name]), keybound.MaxBits); err != nil {
			return err
		}
	}
	return nil
}

// signs refuses statements that are about the artifact, but do not sign it.
func signs(result *verify.VerificationResult) error {
	if result.Statement == nil || result.Statement.GetPredicateType() == signPredicate {
		return nil
	}
	return errors.New("it is an attestation of the type " + result.Statement.GetPredicateType() + ", which does not sign the artifact")
}

// verify holds a signature to what is trusted.
func (t trusted) verify(entity *bundle.Bundle, artifact []byte) (*verify.VerificationResult, error) {
	return t.verifier.Verify(entity, verify.NewPolicy(verify.WithArtifact(bytes.NewReader(artifact)), t.policy...))
}
