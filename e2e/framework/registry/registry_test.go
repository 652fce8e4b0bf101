// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"

	"kumodo.io/convoy/e2e/framework/chart"
)

func start(t *testing.T, root string) *Server {
	t.Helper()
	server, err := Start(Options{Root: root})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	return server
}

// pull returns the manifest behind a reference and the contents of its layers.
func pull(t *testing.T, client *Client, repository, reference string) (manifest ocispec.Manifest, digest string, layers [][]byte) {
	t.Helper()
	g := NewWithT(t)
	source, err := client.repository(repository)
	g.Expect(err).NotTo(HaveOccurred())
	descriptor, body, err := oras.FetchBytes(t.Context(), source, reference, oras.DefaultFetchBytesOptions)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(body, &manifest)).To(Succeed())
	for _, layer := range manifest.Layers {
		blob, err := content.FetchAll(t.Context(), source, layer)
		g.Expect(err).NotTo(HaveOccurred())
		layers = append(layers, blob)
	}
	return manifest, descriptor.Digest.String(), layers
}

func shop(t *testing.T) *chart.Archive {
	t.Helper()
	archive, err := chart.Pack(fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: shop\nversion: 1.0.0+build.1\n")}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return archive
}

func TestPushChart(t *testing.T) {
	g := NewWithT(t)
	server := start(t, t.TempDir())
	archive := shop(t)
	digest, err := server.Client().PushChart(t.Context(), "charts", archive)
	g.Expect(err).NotTo(HaveOccurred())
	again, err := server.Client().PushChart(t.Context(), "charts", archive)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(Equal(digest))

	server.ResetRequests()
	manifest, pulled, layers := pull(t, server.Client(), "charts/shop", "1.0.0_build.1")
	g.Expect(pulled).To(Equal(digest))
	g.Expect(manifest.Config.MediaType).To(Equal(ChartConfigMediaType))
	g.Expect(manifest.Layers[0].MediaType).To(Equal(ChartLayerMediaType))
	g.Expect(layers).To(Equal([][]byte{archive.Content}))
	manifests, blobs := server.Requests("charts/shop")
	g.Expect([]int{manifests, blobs}).To(Equal([]int{1, 1}))
}

func TestPushArtifactAndMoveTags(t *testing.T) {
	g := NewWithT(t)
	client := start(t, t.TempDir()).Client()
	first, err := client.PushArtifact(t.Context(), "team/manifests", "latest", fstest.MapFS{"a.yaml": {Data: []byte("a: 1\n")}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(client.Tag(t.Context(), "team/manifests", "latest", "v1")).To(Succeed())
	second, err := client.PushArtifact(t.Context(), "team/manifests", "latest", fstest.MapFS{"a.yaml": {Data: []byte("a: 2\n")}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second).NotTo(Equal(first))

	manifest, latest, _ := pull(t, client, "team/manifests", "latest")
	g.Expect(latest).To(Equal(second))
	g.Expect(manifest.ArtifactType).To(Equal(ArtifactType))
	g.Expect(manifest.Layers[0].MediaType).To(Equal(ArtifactMediaType))
	_, v1, _ := pull(t, client, "team/manifests", "v1")
	g.Expect(v1).To(Equal(first))
}

func TestProtectedRegistry(t *testing.T) {
	g := NewWithT(t)
	server := start(t, t.TempDir())
	g.Expect(server.Protect("alice", "secret")).To(Succeed())
	files := fstest.MapFS{"a": {}}
	for _, test := range []struct {
		name, user, password string
		want                 bool
	}{
		{name: "without credentials"},
		{name: "wrong password", user: "alice", password: "guess"},
		{name: "right", user: "alice", password: "secret", want: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := &Client{Host: server.Address(), User: test.user, Password: test.password}
			_, err := client.PushArtifact(t.Context(), "a", "v1", files)
			NewWithT(t).Expect(err == nil).To(Equal(test.want), "%v", err)
		})
	}
	g.Expect(server.Unprotect()).To(Succeed())
	pull(t, server.Client(), "a", "v1")
}

func TestContentOutlivesTheServer(t *testing.T) {
	g := NewWithT(t)
	root := filepath.Join(t.TempDir(), "made", "when absent")
	first := start(t, root)
	digest, err := first.Client().PushChart(t.Context(), "", shop(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.Close(t.Context())).To(Succeed())

	_, pulled, _ := pull(t, start(t, root).Client(), "shop", digest)
	g.Expect(pulled).To(Equal(digest))
}
