// SPDX-License-Identifier: Apache-2.0

package testsource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Registry is an OCI registry in this process.
type Registry struct {
	*httptest.Server
	*Recorder
	t     testing.TB
	sizes map[string]int
}

// Layer is a layer of an artifact.
type Layer struct {
	MediaType   string
	Content     []byte
	Annotations map[string]string
}

// ServeOCI starts a registry. It can list referrers.
func ServeOCI(t testing.TB, tls bool) *Registry {
	t.Helper()
	return serveOCI(t, tls, registry.WithReferrersSupport(true))
}

// ServeOldOCI starts a registry that cannot list referrers.
func ServeOldOCI(t testing.TB) *Registry {
	t.Helper()
	return serveOCI(t, false)
}

func serveOCI(t testing.TB, tls bool, options ...registry.Option) *Registry {
	r := &Registry{Recorder: &Recorder{}, t: t, sizes: map[string]int{}}
	options = append(options, registry.Logger(log.New(io.Discard, "", 0)))
	r.Server = httptest.NewUnstartedServer(r.Wrap(registry.New(options...)))
	if tls {
		r.StartTLS()
	} else {
		r.Start()
	}
	t.Cleanup(r.Close)
	return r
}

// Host of the registry.
func (r *Registry) Host() string {
	return strings.TrimPrefix(strings.TrimPrefix(r.URL, "http://"), "https://")
}

// Push uploads an artifact under tags and returns the digest of its manifest.
func (r *Registry) Push(repository string, layers []Layer, tags ...string) string {
	r.t.Helper()
	return r.push(repository, "application/vnd.oci.empty.v1+json", layers, nil, tags...)
}

// PushChart is Push for the layers of a Helm chart, with the configuration that Helm pushes.
func (r *Registry) PushChart(repository string, layers []Layer, tags ...string) string {
	r.t.Helper()
	return r.push(repository, "application/vnd.cncf.helm.config.v1+json", layers, nil, tags...)
}

// Refer uploads an artifact that refers to a manifest that was uploaded before.
func (r *Registry) Refer(repository, subject, artifactType string, layers ...Layer) string {
	r.t.Helper()
	return r.push(repository, artifactType, layers, r.Describe(subject))
}

// Describe returns the descriptor of a manifest that was uploaded before.
func (r *Registry) Describe(digest string) map[string]any {
	return map[string]any{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": r.sizes[digest]}
}

func (r *Registry) push(repository, configType string, layers []Layer, subject map[string]any, tags ...string) string {
	r.t.Helper()
	described := []map[string]any{}
	for _, layer := range layers {
		described = append(described, r.blob(repository, layer))
	}
	manifest := map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": r.blob(repository, Layer{MediaType: configType, Content: []byte("{}")}), "layers": described,
	}
	if subject != nil {
		manifest["subject"] = subject
	}
	data, err := json.Marshal(manifest)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.Manifest(repository, "application/vnd.oci.image.manifest.v1+json", data, tags...)
}

// Manifest uploads a manifest under tags and returns its digest.
func (r *Registry) Manifest(repository, mediaType string, manifest []byte, tags ...string) string {
	r.t.Helper()
	digest := "sha256:" + SHA256(manifest)
	r.sizes[digest] = len(manifest)
	for _, reference := range append([]string{digest}, tags...) {
		r.put(fmt.Sprintf("%s/v2/%s/manifests/%s", r.URL, repository, reference), mediaType, manifest, http.StatusCreated)
	}
	return digest
}

func (r *Registry) blob(repository string, layer Layer) map[string]any {
	digest := "sha256:" + SHA256(layer.Content)
	response, err := r.Client().Post(fmt.Sprintf("%s/v2/%s/blobs/uploads/?digest=%s", r.URL, repository, digest), "application/octet-stream", bytes.NewReader(layer.Content))
	if err != nil {
		r.t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		r.t.Fatalf("uploading a blob: %s", response.Status)
	}
	described := map[string]any{"mediaType": layer.MediaType, "digest": digest, "size": len(layer.Content)}
	if layer.Annotations != nil {
		described["annotations"] = layer.Annotations
	}
	return described
}

func (r *Registry) put(url, mediaType string, body []byte, want int) {
	r.t.Helper()
	request, err := http.NewRequest(http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", mediaType)
	response, err := r.Client().Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != want {
		r.t.Fatalf("PUT %s: %s", url, response.Status)
	}
}

// ServeTokens hands a registry's token to whom allow lets. Its certificate is the one that
// all test servers have.
func ServeTokens(t testing.TB, allow func(*http.Request) bool, token string) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allow(r) {
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"no: `+r.Header.Get("Authorization")+`"}]}`, http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"token": token, "access_token": token})
	}))
	t.Cleanup(server.Close)
	return server
}
