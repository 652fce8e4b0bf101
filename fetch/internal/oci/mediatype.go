// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"kumodo.io/convoy/fetch/internal/archive"
)

const (
	// ChartLayer is the media type of the layer that holds a Helm chart.
	ChartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	// olderChartLayer is what it was before; artifacts that are no charts have such layers, too.
	olderChartLayer = "application/tar+gzip"
	// chartConfig is that of a chart's configuration, and so the type of the artifact.
	chartConfig = "application/vnd.cncf.helm.config.v1+json"

	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
)

func isIndex(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageIndex || mediaType == dockerIndex
}

func isManifest(mediaType string) bool {
	return mediaType == ocispec.MediaTypeImageManifest || mediaType == dockerManifest
}

// suffixes of media types of archives.
var suffixes = []struct {
	suffix      string
	compression archive.Compression
}{
	{"tar+gzip", archive.Gzip},
	{"tar.gzip", archive.Gzip},
	{"tar+zstd", archive.Zstd},
	{"tar.zstd", archive.Zstd},
	{".tar", archive.None},
}

// isTar recognises the media types of archives, compressed or not.
func isTar(mediaType string) bool { return compressionOf(mediaType) != archive.Recognised }

// compressionOf returns what the media type of a layer says of it.
func compressionOf(mediaType string) archive.Compression {
	for _, known := range suffixes {
		if strings.HasSuffix(mediaType, known.suffix) {
			return known.compression
		}
	}
	return archive.Recognised
}
