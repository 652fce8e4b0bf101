// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"kumodo.io/convoy/e2e/framework/chart"
)

// Media types of what is pushed here.
const (
	ChartConfigMediaType = "application/vnd.cncf.helm.config.v1+json"
	ChartLayerMediaType  = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	ArtifactType         = "application/vnd.convoy.test.manifests.v1"
	ArtifactMediaType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// created is the same for all manifests: equal content gets an equal digest.
const created = "2000-01-01T00:00:00Z"

// Client pushes into a registry, in this process or another one.
type Client struct {
	Host           string // host and port
	User, Password string
	HTTP           *http.Client // for https; nil speaks plain http
}

// Client returns a client of the server, for plain http and without credentials.
func (s *Server) Client() *Client { return &Client{Host: s.Address()} }

// PushChart pushes a chart the way "helm push" does, to
// <repository>/<chart name>:<version>, with every + of the version as _.
// It returns the manifest's digest.
func (c *Client) PushChart(ctx context.Context, repository string, archive *chart.Archive) (string, error) {
	config, err := json.Marshal(archive.Metadata)
	if err != nil {
		return "", fmt.Errorf("encode the chart's metadata: %w", err)
	}
	return c.push(ctx, path.Join(repository, archive.Name), strings.ReplaceAll(archive.Version, "+", "_"), "", []blob{
		{mediaType: ChartConfigMediaType, content: config},
		{mediaType: ChartLayerMediaType, content: archive.Content},
	})
}

// PushArtifact pushes files as an artifact with one layer, a gzipped tar, and
// returns the manifest's digest.
func (c *Client) PushArtifact(ctx context.Context, repository, tag string, files fs.FS) (string, error) {
	layer, err := chart.Tar(files, "", nil)
	if err != nil {
		return "", err
	}
	return c.push(ctx, repository, tag, ArtifactType, []blob{
		{mediaType: ocispec.MediaTypeEmptyJSON, content: ocispec.DescriptorEmptyJSON.Data},
		{mediaType: ArtifactMediaType, content: layer},
	})
}

// Tag puts another tag on what a tag or digest names.
func (c *Client) Tag(ctx context.Context, repository, from, to string) error {
	target, err := c.repository(repository)
	if err != nil {
		return err
	}
	if _, err := oras.Tag(ctx, target, from, to); err != nil {
		return fmt.Errorf("tag %s in %s: %w", to, repository, err)
	}
	return nil
}

type blob struct {
	mediaType string
	content   []byte
}

// push uploads the blobs, the first of which is the config, and a manifest that
// names them, and puts the tag on it.
func (c *Client) push(ctx context.Context, repository, tag, artifactType string, blobs []blob) (string, error) {
	target, err := c.repository(repository)
	if err != nil {
		return "", err
	}
	descriptors := make([]ocispec.Descriptor, 0, len(blobs))
	for _, b := range blobs {
		descriptor, err := oras.PushBytes(ctx, target, b.mediaType, b.content)
		if err != nil {
			return "", fmt.Errorf("push a blob to %s: %w", repository, err)
		}
		descriptors = append(descriptors, descriptor)
	}
	manifest, err := oras.PackManifest(ctx, target, oras.PackManifestVersion1_1, artifactType, oras.PackManifestOptions{
		ConfigDescriptor:    &descriptors[0],
		Layers:              descriptors[1:],
		ManifestAnnotations: map[string]string{ocispec.AnnotationCreated: created},
	})
	if err != nil {
		return "", fmt.Errorf("push the manifest to %s: %w", repository, err)
	}
	if err := target.Tag(ctx, manifest, tag); err != nil {
		return "", fmt.Errorf("tag %s in %s: %w", tag, repository, err)
	}
	return manifest.Digest.String(), nil
}

func (c *Client) repository(name string) (*remote.Repository, error) {
	repository, err := remote.NewRepository(c.Host + "/" + name)
	if err != nil {
		return nil, fmt.Errorf("repository %s: %w", name, err)
	}
	repository.PlainHTTP = c.HTTP == nil
	client := &auth.Client{Client: c.HTTP}
	if c.HTTP == nil {
		client.Client = http.DefaultClient
	}
	if c.User != "" {
		client.Credential = auth.StaticCredential(c.Host, auth.Credential{Username: c.User, Password: c.Password})
	}
	repository.Client = client
	return repository, nil
}
