// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/archive"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/chartfile"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// ChartLayer is the media type of the layer that holds a Helm chart.
const ChartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

const (
	maxManifest = 4 << 20
	dockerIndex = "application/vnd.docker.distribution.manifest.list.v2+json"
)

// Key identifies the content of a revision. The version of a chart counts: content that is
// tagged as two versions is right for one of them at most.
func (b *Backend) Key(revision string) (string, error) {
	r, err := b.parse(revision)
	if err == nil {
		err = b.named()
	}
	if b.want.Chart {
		return b.reference().Repository + "/chart/" + r.String(), err
	}
	return b.reference().Repository + "/artifact/" + b.want.MediaType + "/" + r.Digest(), err
}

func (b *Backend) parse(revision string) (backend.Revision, error) {
	r, err := backend.ParseRevision(revision)
	if err == nil && r.Algorithm != "sha256" {
		err = fault.New(fault.ErrInvalid, "%q is no revision of an artifact", revision)
	}
	return r, err
}

// Fetch returns the content of a revision's manifest.
func (b *Backend) Fetch(ctx context.Context, ops backend.Ops, revision string) (*tree.Tree, error) {
	r, err := b.parse(revision)
	if err != nil {
		return nil, err
	}
	var t *tree.Tree
	err = ops.Do(ctx, func(ctx context.Context) error {
		s, err := b.open(ctx)
		if err != nil {
			return err
		}
		defer s.close()
		manifest, err := s.manifest(ctx, r.Digest())
		if err != nil {
			return err
		}
		layer, err := b.choose(manifest.Layers)
		if err != nil {
			return err
		}
		t, err = s.layer(ctx, layer, r.Name)
		return err
	})
	return t, err
}

// manifest reads a manifest. An index is followed when it holds one manifest only.
func (s *clients) manifest(ctx context.Context, id string) (*ocispec.Manifest, error) {
	for range 2 {
		descriptor, data, err := s.rawManifest(ctx, id)
		if err != nil {
			return nil, err
		}
		if descriptor.MediaType != ocispec.MediaTypeImageIndex && descriptor.MediaType != dockerIndex {
			var manifest ocispec.Manifest
			if json.Unmarshal(data, &manifest) != nil {
				return nil, fault.New(fault.ErrContent, "the manifest %s is damaged", id)
			}
			return &manifest, nil
		}
		var index ocispec.Index
		if json.Unmarshal(data, &index) != nil {
			return nil, fault.New(fault.ErrContent, "the index %s is damaged", id)
		}
		if len(index.Manifests) != 1 {
			return nil, fault.New(fault.ErrContent, "%s is an index of %d manifests, of which none is the obvious one; refer to one of them by its digest", id, len(index.Manifests))
		}
		id = index.Manifests[0].Digest.String()
	}
	return nil, fault.New(fault.ErrContent, "the index leads to another index, %s", id)
}

func (s *clients) rawManifest(ctx context.Context, id string) (ocispec.Descriptor, []byte, error) {
	wanted := digest.Digest(id)
	what := "manifest " + id
	if wanted.Validate() != nil {
		return ocispec.Descriptor{}, nil, fault.New(fault.ErrContent, "%q is not a digest", id)
	}
	descriptor, body, err := s.repository().Manifests().FetchReference(ctx, id)
	if err != nil {
		return ocispec.Descriptor{}, nil, s.failed(ctx, what, err)
	}
	defer body.Close()
	data, err := access.ReadAll(body, descriptor.Size, maxManifest, "the manifest")
	if err != nil {
		return ocispec.Descriptor{}, nil, s.failed(ctx, what, err)
	}
	if wanted.Algorithm().FromBytes(data) != wanted {
		return ocispec.Descriptor{}, nil, fault.New(fault.ErrContent, "the registry sent another manifest than %s", id)
	}
	return descriptor, data, nil
}

// choose returns the layer with the content. Their order means nothing: signatures and
// provenance stand before or after the content.
func (b *Backend) choose(layers []ocispec.Descriptor) (ocispec.Descriptor, error) {
	select1 := func(fits func(mediaType string) bool) []ocispec.Descriptor {
		return slices.DeleteFunc(slices.Clone(layers), func(l ocispec.Descriptor) bool { return !fits(l.MediaType) })
	}
	wanted, found := b.want.MediaType, []ocispec.Descriptor(nil)
	switch {
	case wanted != "":
		found = select1(func(mediaType string) bool { return mediaType == wanted })
	default:
		wanted = ChartLayer
		found = select1(func(mediaType string) bool { return mediaType == ChartLayer })
		if len(found) == 0 && !b.want.Chart {
			wanted = "of a tar archive"
			found = select1(isTar)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	types := make([]string, 0, len(layers))
	for _, l := range layers {
		types = append(types, l.MediaType)
	}
	return ocispec.Descriptor{}, fault.New(fault.ErrContent, "one layer %s is needed, the artifact has %d; its layers are [%s]", wanted, len(found), strings.Join(types, ", "))
}

// isTar recognises the media types of archives, compressed or not.
func isTar(mediaType string) bool {
	return strings.HasSuffix(mediaType, "tar+gzip") || strings.HasSuffix(mediaType, "tar.gzip") ||
		strings.HasSuffix(mediaType, ".tar") || strings.HasSuffix(mediaType, "tar+zstd")
}

// layer reads a layer. version is the name of the revision.
func (s *clients) layer(ctx context.Context, layer ocispec.Descriptor, version string) (*tree.Tree, error) {
	b := s.backend
	what := "layer " + layer.Digest.String()
	switch {
	case layer.Size > b.limits.DownloadBytes:
		return nil, fault.New(fault.ErrLimit, "the %s has %d bytes; %d are accepted", what, layer.Size, b.limits.DownloadBytes)
	case strings.HasSuffix(layer.MediaType, "+zstd"):
		return nil, fault.New(fault.ErrContent, "the %s is compressed with zstd, which is not built yet; gzip is", what)
	case layer.Digest.Validate() != nil || layer.Size < 0:
		return nil, fault.New(fault.ErrContent, "the manifest describes a layer wrongly")
	}
	body, err := s.repository().Blobs().Fetch(ctx, layer)
	if err != nil {
		return nil, s.failed(ctx, what, err)
	}
	defer body.Close()
	data, err := readVerified(body, layer)
	if err != nil {
		return nil, s.failed(ctx, what, err)
	}
	t, err := archive.Unpack(data, archive.Options{
		Plain:    strings.HasSuffix(layer.MediaType, ".tar"),
		StripTop: layer.MediaType == ChartLayer,
		Limits:   b.limits,
	})
	if err != nil || layer.MediaType != ChartLayer {
		return t, err
	}
	name := path.Base(b.reference().Repository)
	if !b.want.Chart {
		// An artifact may be tagged and stored under any name.
		name, version = "", ""
	}
	if err := chartfile.Check(t, "the "+what, name, version); err != nil {
		return nil, err
	}
	return t, nil
}

// readVerified reads a blob and holds it to its descriptor. Memory grows with what comes,
// not with what the descriptor claims.
func readVerified(body io.Reader, layer ocispec.Descriptor) ([]byte, error) {
	verified := content.NewVerifyReader(body, layer)
	data, err := access.ReadAll(verified, min(layer.Size, 1<<20), layer.Size, "the layer")
	if err != nil {
		return nil, err
	}
	if err := verified.Verify(); err != nil {
		return nil, fault.New(fault.ErrContent, "the registry sent other content than the layer %s", layer.Digest)
	}
	return data, nil
}
