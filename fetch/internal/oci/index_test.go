// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"testing"

	. "github.com/onsi/gomega"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"kumodo.io/convoy/fetch/internal/archive"
	"kumodo.io/convoy/fetch/internal/fault"
)

func TestCompressionOf(t *testing.T) {
	for mediaType, want := range map[string]archive.Compression{
		"application/vnd.oci.image.layer.v1.tar+gzip":       archive.Gzip,
		"application/vnd.docker.image.rootfs.diff.tar.gzip": archive.Gzip,
		"application/vnd.oci.image.layer.v1.tar+zstd":       archive.Zstd,
		"application/vnd.docker.image.rootfs.diff.tar.zstd": archive.Zstd,
		"application/vnd.oci.image.layer.v1.tar":            archive.None,
		"application/vnd.mine":                              archive.Recognised,
		"":                                                  archive.Recognised,
	} {
		NewWithT(t).Expect(compressionOf(mediaType)).To(Equal(want), mediaType)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:00","size":1}]}`), false)
	f.Add([]byte(`{"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:00","size":-1,"platform":{"os":"linux","architecture":"amd64"}},{"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"x","annotations":{"vnd.docker.reference.type":"y"}}]}`), true)
	f.Add([]byte(`{"mediaType":"application/vnd.oci.image.index.v1+json","layers":[],"manifests":[]}`), true)
	f.Fuzz(func(t *testing.T, data []byte, index bool) {
		descriptor := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest}
		if index {
			descriptor.MediaType = ocispec.MediaTypeImageIndex
		}
		d, err := parseDocument(descriptor, data)
		if err == nil && index {
			var list []ocispec.Descriptor
			if list, err = narrow(descriptor, d.Manifests); err == nil {
				if len(list) == 0 || len(list) > len(d.Manifests) {
					t.Fatalf("%d of %d manifests", len(list), len(d.Manifests))
				}
				err = ambiguous(descriptor, list)
			}
		} else if err == nil {
			_, err = (&Backend{}).choose(d.Layers)
		}
		if err != nil && fault.Kind(err) == nil {
			t.Fatalf("an error without kind: %v", err)
		}
	})
}
