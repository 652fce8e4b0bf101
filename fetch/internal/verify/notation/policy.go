// SPDX-License-Identifier: Apache-2.0

package notation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/notaryproject/notation-go/verifier/trustpolicy"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/verify/attached"
)

// standard is the policy that holds without one: whatever the certificates vouch for, strictly.
func standard(timestamps bool) *trustpolicy.Document {
	stores := []string{"ca:" + storeName}
	if timestamps {
		stores = append(stores, "tsa:"+storeName)
	}
	return &trustpolicy.Document{Version: "1.0", TrustPolicies: []trustpolicy.TrustPolicy{{
		Name: storeName, RegistryScopes: []string{"*"}, TrustStores: stores, TrustedIdentities: []string{"*"},
		SignatureVerification: trustpolicy.SignatureVerification{VerificationLevel: trustpolicy.LevelStrict.Name},
	}}}
}

// readPolicy reads a trust policy, and refuses one that lets through what nobody signed.
func readPolicy(data []byte) (*trustpolicy.Document, error) {
	var policy trustpolicy.Document
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&policy) != nil {
		return nil, errors.New("it is no JSON of the right form")
	}
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	for _, statement := range policy.TrustPolicies {
		level, err := statement.SignatureVerification.GetVerificationLevel()
		if err != nil {
			return nil, err
		}
		for _, needed := range []trustpolicy.ValidationType{trustpolicy.TypeIntegrity, trustpolicy.TypeAuthenticity} {
			if level.Enforcement[needed] != trustpolicy.ActionEnforce {
				return nil, fmt.Errorf("the level %q of the statement %q does not enforce %s; use strict or permissive", level.Name, statement.Name, needed)
			}
		}
	}
	return &policy, nil
}

// read returns the media type and the content of a signature's envelope.
func read(ctx context.Context, repository *remote.Repository, descriptor ocispec.Descriptor) (mediaType string, envelope []byte, err error) {
	manifest, err := attached.Manifest(ctx, repository, descriptor)
	if err != nil {
		return "", nil, err
	}
	if len(manifest.Layers) != 1 {
		return "", nil, fault.New(fault.ErrVerification, "a signature has one layer, and the manifest %s has %d", descriptor.Digest, len(manifest.Layers))
	}
	envelope, err = attached.Blob(ctx, repository, manifest.Layers[0])
	return manifest.Layers[0].MediaType, envelope, err
}
