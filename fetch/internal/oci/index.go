// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/provenance"
)

const (
	// maxCandidates bounds the manifests of an index that are looked into.
	maxCandidates = 16
	// maxListed bounds the manifests that a message names.
	maxListed = 5
	// attestation is the annotation of a manifest that is about another one of the index.
	attestation = "vnd.docker.reference.type"
)

// layers returns the layers of the manifest with the content: of the given one, or of one of
// the index that it is. An index in an index is followed where there is no choice.
func (s *clients) layers(ctx context.Context, descriptor ocispec.Descriptor, data []byte) ([]ocispec.Descriptor, error) {
	for range 2 {
		d, err := parseDocument(descriptor, data)
		if err != nil || !isIndex(descriptor.MediaType) {
			return d.Layers, err
		}
		candidates, err := narrow(descriptor, d.Manifests)
		if err != nil {
			return nil, err
		}
		if len(candidates) > 1 {
			return s.lookInto(ctx, descriptor, candidates)
		}
		if descriptor, data, err = s.rawManifest(ctx, candidates[0].Digest.String()); err != nil {
			return nil, err
		}
	}
	if isIndex(descriptor.MediaType) {
		return nil, fault.New(fault.ErrContent, "the index leads to another index, %s; refer to a manifest by its digest", descriptor.Digest)
	}
	d, err := parseDocument(descriptor, data)
	return d.Layers, err
}

// document is a manifest or an index. One that could be read as either, and so differently
// by whoever signed it, is refused, see CVE-2021-41190.
type document struct {
	MediaType string               `json:"mediaType"`
	Layers    []ocispec.Descriptor `json:"layers"`
	Manifests []ocispec.Descriptor `json:"manifests"`
}

func parseDocument(descriptor ocispec.Descriptor, data []byte) (document, error) {
	var d document
	index := isIndex(descriptor.MediaType)
	switch {
	case json.Unmarshal(data, &d) != nil:
		return d, fault.New(fault.ErrContent, "the manifest %s is damaged", descriptor.Digest)
	case d.MediaType != "" && d.MediaType != descriptor.MediaType:
		return d, fault.New(fault.ErrContent, "the registry sends the manifest %s as %q, and it calls itself %q", descriptor.Digest, descriptor.MediaType, d.MediaType)
	case index && d.Layers != nil, !index && d.Manifests != nil:
		return d, fault.New(fault.ErrContent, "the manifest %s has both layers and manifests, so that it is not clear what it is", descriptor.Digest)
	}
	return d, nil
}

// narrow returns the manifests of an index that may hold the content, as far as the index
// tells of them:
//   - attestations about others, and what is no manifest, are out;
//   - charts go before other types of artifact, as chart layers do before other archives;
//   - what is for no platform goes before what is for one, and that for Linux on amd64 before
//     that for others: what other tools of delivery take.
func narrow(index ocispec.Descriptor, manifests []ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	list := slices.DeleteFunc(slices.Clone(manifests), func(m ocispec.Descriptor) bool {
		return m.Annotations[attestation] != "" || platformOf(m) == "unknown/unknown" || !isManifest(m.MediaType) && !isIndex(m.MediaType)
	})
	if len(list) == 0 {
		return nil, fault.New(fault.ErrContent, "%s is an index without a manifest that could hold the content", index.Digest)
	}
	for _, fits := range []func(ocispec.Descriptor) bool{
		func(m ocispec.Descriptor) bool { return m.ArtifactType == chartConfig },
		func(m ocispec.Descriptor) bool { return platformOf(m) == "" },
		func(m ocispec.Descriptor) bool { return platformOf(m) == "linux/amd64" },
	} {
		if some := slices.DeleteFunc(slices.Clone(list), func(m ocispec.Descriptor) bool { return !fits(m) }); len(some) > 0 {
			list = some
		}
	}
	// The same manifest may be listed for several platforms.
	return slices.CompactFunc(list, func(x, y ocispec.Descriptor) bool { return x.Digest == y.Digest }), nil
}

// platformOf writes a platform; empty when there is none.
func platformOf(m ocispec.Descriptor) string {
	if m.Platform == nil || m.Platform.OS == "" && m.Platform.Architecture == "" {
		return ""
	}
	return m.Platform.OS + "/" + m.Platform.Architecture
}

// lookInto reads several manifests and returns the layers of the one that has the wanted one.
// Those that have the same are alike, but that one of them may have its provenance besides.
func (s *clients) lookInto(ctx context.Context, index ocispec.Descriptor, candidates []ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	if len(candidates) > maxCandidates {
		return nil, ambiguous(index, candidates)
	}
	var found, of []ocispec.Descriptor
	var layers [][]ocispec.Descriptor
	for _, candidate := range candidates {
		descriptor, data, err := s.rawManifest(ctx, candidate.Digest.String())
		if err != nil {
			return nil, err
		}
		d, err := parseDocument(descriptor, data)
		switch {
		case err != nil:
			return nil, err
		case isIndex(descriptor.MediaType):
			return nil, ambiguous(index, candidates)
		}
		if layer, err := s.backend.choose(d.Layers); err == nil {
			found, of, layers = append(found, layer), append(of, candidate), append(layers, d.Layers)
		}
	}
	if len(found) == 0 {
		return nil, fault.New(fault.ErrContent, "%s is an index of %d manifests, none of which has the one layer that is wanted: %s", index.Digest, len(candidates), listed(candidates))
	}
	for _, other := range found[1:] {
		if other.Digest != found[0].Digest {
			return nil, ambiguous(index, of)
		}
	}
	return layers[max(0, slices.IndexFunc(layers, hasProvenance))], nil
}

func hasProvenance(layers []ocispec.Descriptor) bool {
	return slices.ContainsFunc(layers, func(l ocispec.Descriptor) bool { return l.MediaType == provenance.LayerMediaType })
}

func ambiguous(index ocispec.Descriptor, candidates []ocispec.Descriptor) error {
	return fault.New(fault.ErrContent, "%s is an index of which %d manifests may be meant: %s; refer to one of them by its digest, or select its layer with layerSelector",
		index.Digest, len(candidates), listed(candidates))
}

// listed names manifests for a message.
func listed(manifests []ocispec.Descriptor) string {
	names := make([]string, 0, maxListed+1)
	for i, m := range manifests {
		if i == maxListed {
			names = append(names, fmt.Sprintf("and %d more", len(manifests)-i))
			break
		}
		about := slices.DeleteFunc([]string{platformOf(m), m.ArtifactType}, func(s string) bool { return s == "" })
		name := m.Digest.String()
		if len(about) > 0 {
			name += " (" + strings.Join(about, ", ") + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
