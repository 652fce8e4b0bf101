// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
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
	"kumodo.io/convoy/fetch/internal/budget"
	"kumodo.io/convoy/fetch/internal/chartfile"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

const maxManifest = 4 << 20

// algorithms of the digests that name manifests.
var algorithms = []string{"sha256", "sha384", "sha512"}

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
	if err == nil && !slices.Contains(algorithms, r.Algorithm) {
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
		descriptor, data, err := s.rawManifest(ctx, r.Digest())
		if err != nil {
			return err
		}
		// Before anything of it is believed: what it refers to, it refers to by digest.
		if err := s.verified(ctx, ops, descriptor, data); err != nil {
			return err
		}
		layers, err := s.layers(ctx, descriptor, data)
		if err != nil {
			return err
		}
		layer, err := b.choose(layers)
		if err != nil {
			return err
		}
		if err := s.provenance(ctx, r, layers, layer); err != nil {
			return err
		}
		t, err = s.layer(ctx, layer, r.Name)
		return err
	})
	return t, err
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
	// What is signed is described by these three.
	return ocispec.Descriptor{MediaType: descriptor.MediaType, Digest: wanted, Size: int64(len(data))}, data, nil
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
		switch {
		case len(found) > 0:
		case b.want.Chart:
			found = select1(func(mediaType string) bool { return mediaType == olderChartLayer })
		default:
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

// layer reads a layer. version is the name of the revision.
func (s *clients) layer(ctx context.Context, layer ocispec.Descriptor, version string) (*tree.Tree, error) {
	b := s.backend
	what := "layer " + layer.Digest.String()
	switch {
	case layer.Size > b.options.Limits.DownloadBytes:
		return nil, fault.New(fault.ErrLimit, "the %s has %s; %s are accepted. %s", what, fault.Size(layer.Size), fault.Size(b.options.Limits.DownloadBytes), tree.WayOut(backend.FlagDownloadBytes))
	case layer.Digest.Validate() != nil || layer.Size < 0:
		return nil, fault.New(fault.ErrContent, "the manifest describes a layer wrongly")
	}
	body, err := s.repository().Blobs().Fetch(ctx, layer)
	if err != nil {
		return nil, s.failed(ctx, what, err)
	}
	defer body.Close()
	data, err := readVerified(budget.Reader(ctx, body, layer.Size), layer)
	if err != nil {
		return nil, s.failed(ctx, what, err)
	}
	isChart := b.want.Chart || layer.MediaType == ChartLayer
	t, err := archive.Unpack(ctx, data, archive.Options{
		Compression: compressionOf(layer.MediaType),
		StripTop:    isChart,
		Limits:      b.options.Limits,
	})
	if err != nil {
		return nil, fault.Rewrite(err, "the "+what+": "+err.Error())
	}
	if !isChart {
		return t, nil
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
