// SPDX-License-Identifier: Apache-2.0

// Package verify checks the signatures of OCI artifacts: those of cosign, with public keys
// or with the identities of certificates, and those of the Notary Project.
//
// All that is trusted comes from a Secret of the source's namespace; nothing is trusted
// because it is well known, and nothing is asked of a public service.
package verify

import (
	"context"

	"oras.land/oras-go/v2/registry/remote"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/verify/attached"
	"kumodo.io/convoy/fetch/internal/verify/cosign"
	"kumodo.io/convoy/fetch/internal/verify/notation"
)

// The providers of signatures.
const (
	Cosign   = "cosign"
	Notation = "notation"
)

// Subject is the manifest that has to be signed.
type Subject = attached.Subject

// Verifier looks for a signature that it trusts.
type Verifier interface {
	// Verify returns a name of who signed the subject, for logs. repository is where it is.
	// The errors are fault.ErrVerification, fault.ErrLimit, and those of the repository.
	Verify(ctx context.Context, repository *remote.Repository, subject Subject) (signer string, err error)
}

// New returns the Verifier of a spec. secret is the namespace/name of the Secret with what
// is trusted, and data its content. The errors are fault.ErrInvalid and fault.ErrSecret.
func New(spec *sourcev1alpha1.OCIVerification, secret string, data map[string][]byte) (Verifier, error) {
	if spec.SecretRef == nil {
		return nil, fault.New(fault.ErrInvalid, "spec.verify needs a secretRef to a Secret with what is trusted")
	}
	switch {
	case spec.Provider == Cosign:
		return cosign.New(spec.MatchOIDCIdentity, secret, data)
	case spec.Provider == Notation && len(spec.MatchOIDCIdentity) > 0:
		return nil, fault.New(fault.ErrInvalid, "spec.verify.matchOIDCIdentity is for the provider %s only", Cosign)
	case spec.Provider == Notation:
		return notation.New(secret, data)
	}
	return nil, fault.New(fault.ErrInvalid, "spec.verify.provider %q is neither %s nor %s", spec.Provider, Cosign, Notation)
}
