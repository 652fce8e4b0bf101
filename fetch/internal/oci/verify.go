// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"k8s.io/klog/v2"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/verify"
)

// verified checks the signatures of a manifest if they are demanded. What was found good is
// not checked again while that is remembered: a digest names one content, and the memory is
// of this source with these keys.
func (s *clients) verified(ctx context.Context, ops backend.Ops, descriptor ocispec.Descriptor, data []byte) error {
	b := s.backend
	if b.verifier == nil {
		return nil
	}
	reference := b.reference()
	fact := "verified/" + reference.Repository + "@" + descriptor.Digest.String()
	if _, known := ops.Recall(fact); known {
		return nil
	}
	subject := verify.Subject{Registry: reference.Registry, Repository: reference.Repository, Descriptor: descriptor, Manifest: data}
	signer, err := b.verifier.Verify(ctx, s.repository(), subject)
	if err != nil {
		return s.failed(ctx, "signatures of "+subject.String(), err)
	}
	klog.FromContext(ctx).V(2).Info("Verified a signature", "artifact", subject.String(), "signer", signer)
	ops.Remember(fact, signer)
	return nil
}
