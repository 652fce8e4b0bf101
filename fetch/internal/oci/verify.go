// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"path"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"k8s.io/klog/v2"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/provenance"
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

// provenance checks the layer with the provenance of a chart, if that is demanded. The
// archive, which has not been read yet, is what its descriptor says.
func (s *clients) provenance(ctx context.Context, r backend.Revision, layers []ocispec.Descriptor, archive ocispec.Descriptor) error {
	b := s.backend
	if b.provenance == nil {
		return nil
	}
	what := "the chart " + path.Base(b.reference().Repository) + " " + r.String()
	if archive.Digest.Validate() != nil || archive.Digest.Algorithm() != digest.SHA256 {
		return fault.New(fault.ErrVerification, "%s has its archive under a digest that is none of SHA-256, as provenance files name", what)
	}
	at := slices.IndexFunc(layers, func(l ocispec.Descriptor) bool { return l.MediaType == provenance.LayerMediaType })
	if at < 0 {
		return provenance.Missing(what, "among its layers")
	}
	signed := layers[at]
	if signed.Digest.Validate() != nil || signed.Size < 0 || signed.Size > provenance.MaxBytes {
		return fault.New(fault.ErrVerification, "%s describes its provenance file wrongly, or it has more than %s", what, fault.Size(provenance.MaxBytes))
	}
	body, err := s.repository().Blobs().Fetch(ctx, signed)
	if err != nil {
		return s.failed(ctx, "layer "+signed.Digest.String(), err)
	}
	defer body.Close()
	file, err := readVerified(body, signed)
	if err != nil {
		return s.failed(ctx, "layer "+signed.Digest.String(), err)
	}
	key, err := b.provenance.Verify(ctx, what, file, provenance.Chart{Name: path.Base(b.reference().Repository), Version: r.Name, Digest: archive.Digest.Encoded()})
	if err == nil {
		klog.FromContext(ctx).V(2).Info("Verified a signature", "chart", b.reference().Repository, "version", r.Name, "key", key)
	}
	return err
}
