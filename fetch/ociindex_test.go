// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/fetch/internal/testsource"
)

const indexType = "application/vnd.oci.image.index.v1+json"

// TestOCIIndex chooses among the manifests of an index.
func TestOCIIndex(t *testing.T) {
	registry := testsource.ServeOCI(t, false)
	push := func(layers ...testsource.Layer) string { return registry.Push("app", layers) }
	files := func(content string) testsource.Layer {
		return testsource.Layer{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": content})}
	}
	one, two, same := push(files("one")), push(files("two")), push(files("one"), testsource.Layer{MediaType: "text/plain", Content: []byte("x")})
	chart := push(testsource.Layer{MediaType: chartLayer, Content: testsource.Chart(t, "app", "1.0.0")})
	bill := push(testsource.Layer{MediaType: "application/spdx+json", Content: []byte("{}")})
	mine := push(testsource.Layer{MediaType: "application/x-mine", Content: testsource.TarGz(t, map[string]string{"a.yaml": "mine"})})
	entry := func(digest string, more ...any) map[string]any {
		described := registry.Describe(digest)
		for i := 0; i < len(more); i += 2 {
			described[more[i].(string)] = more[i+1]
		}
		return described
	}
	platform := func(os, architecture string) map[string]any {
		return map[string]any{"os": os, "architecture": architecture}
	}
	linux, arm, unknown := platform("linux", "amd64"), platform("linux", "arm64"), platform("unknown", "unknown")
	inner := registry.Manifest("app", indexType, indexWith(t, entry(one)))
	nested := entry(inner)
	nested["mediaType"] = indexType
	twice := registry.Manifest("app", indexType, indexWith(t, nested))
	deep := entry(twice)
	deep["mediaType"] = indexType
	var many []map[string]any
	for i := range 20 {
		many = append(many, entry(push(files(fmt.Sprint(i)))))
	}
	for _, tc := range []struct {
		name     string
		given    []map[string]any
		selector string
		want     string
		wantText string
	}{
		{name: "one", given: []map[string]any{entry(one)}, want: "one"},
		{name: "for no platform before for one", given: []map[string]any{entry(two, "platform", linux), entry(one)}, want: "one"},
		{name: "Linux on amd64 before others", given: []map[string]any{entry(two, "platform", arm), entry(one, "platform", linux)}, want: "one"},
		{name: "no attestations", given: []map[string]any{entry(one, "platform", arm), entry(two, "platform", unknown, "annotations", map[string]any{"vnd.docker.reference.type": "attestation-manifest"})}, want: "one"},
		{name: "no attestations without platform", given: []map[string]any{entry(one, "platform", arm), entry(two, "annotations", map[string]any{"vnd.docker.reference.type": "attestation-manifest"})}, want: "one"},
		{name: "chart before other types", given: []map[string]any{entry(one, "artifactType", "application/x-other"), entry(chart, "artifactType", "application/vnd.cncf.helm.config.v1+json")}, want: "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"},
		{name: "the one with content", given: []map[string]any{entry(bill, "artifactType", "application/spdx+json"), entry(one)}, want: "one"},
		{name: "the one with the selected layer", given: []map[string]any{entry(one), entry(mine)}, selector: "application/x-mine", want: "mine"},
		{name: "the same content", given: []map[string]any{entry(one), entry(same)}, want: "one"},
		{name: "the same manifest", given: []map[string]any{entry(one, "platform", linux), entry(one, "platform", linux)}, want: "one"},
		{name: "an index in it", given: []map[string]any{nested}, want: "one"},
		{name: "an index in an index in it", given: []map[string]any{deep}, wantText: "leads to another index"},
		{name: "two", given: []map[string]any{entry(one, "artifactType", "application/x-a"), entry(two, "platform", map[string]any{})}, wantText: "of which 2 manifests may be meant: " + one + " (application/x-a), " + two},
		{name: "two for other platforms", given: []map[string]any{entry(one, "platform", arm), entry(two, "platform", platform("windows", "amd64"))}, wantText: "(linux/arm64), " + two + " (windows/amd64)"},
		{name: "too many", given: many, wantText: "and 15 more"},
		{name: "without content", given: []map[string]any{entry(bill), entry(mine)}, wantText: "none of which has the one layer that is wanted"},
		{name: "empty", wantText: "without a manifest that could hold the content"},
		{name: "no manifests", given: []map[string]any{entry(one, "mediaType", "text/plain")}, wantText: "without a manifest that could hold the content"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			tag := strings.ToLower(strings.ReplaceAll(tc.name, " ", "-"))
			registry.Manifest("app", indexType, indexWith(t, tc.given...), tag)
			source := artifactRef("app", corev1alpha1.OCIRef{Tag: tag})
			if tc.selector != "" {
				source.LayerSelector = &corev1alpha1.LayerSelector{MediaType: tc.selector}
			}
			a, err := newRig(t, fetch.Options{}).get(t, ociWant("oci://"+registry.Host(), "", source))
			if tc.wantText != "" {
				g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			name := "a.yaml"
			if strings.HasPrefix(tc.want, "apiVersion") {
				name = "templates/service.yaml"
			}
			g.Expect(read(a, name)).To(Equal(tc.want))
		})
	}
}

// TestOCIManifestThatIsTwoThings refuses what who signed it may have read in another way.
func TestOCIManifestThatIsTwoThings(t *testing.T) {
	registry := testsource.ServeOCI(t, false)
	registry.Push("app", []testsource.Layer{{MediaType: contentLayer, Content: testsource.TarGz(t, map[string]string{"a.yaml": "a"})}}, "fine")
	for _, tc := range []struct{ name, mediaType, given, want string }{
		{"layers and manifests", "application/vnd.oci.image.manifest.v1+json", `{"schemaVersion":2,"layers":[],"manifests":[]}`, "both layers and manifests"},
		{"index with layers", indexType, `{"schemaVersion":2,"layers":[],"manifests":[]}`, "both layers and manifests"},
		{"another media type within", "application/vnd.oci.image.manifest.v1+json", `{"schemaVersion":2,"mediaType":"` + indexType + `","layers":[]}`, "calls itself"},
		{"no JSON", "application/vnd.oci.image.manifest.v1+json", `{`, "damaged"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			digest := "sha256:" + testsource.SHA256([]byte(tc.given))
			inner := registry.Config.Handler
			t.Cleanup(func() { registry.Config.Handler = inner })
			registry.Config.Handler = serving("/manifests/"+digest, tc.mediaType, digest, []byte(tc.given), inner)
			_, err := newRig(t, fetch.Options{}).get(t, ociWant("oci://"+registry.Host(), "", artifactRef("app", corev1alpha1.OCIRef{Digest: digest})))
			g.Expect(errors.Is(err, fetch.ErrContent)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(tc.want))
		})
	}
}

// serving gives content at the end of a path.
func serving(end, mediaType, digest string, content []byte, inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, end) {
			inner.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Docker-Content-Digest", digest)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(content)
		}
	})
}

// TestOCIDigestsOfSHA512 takes manifests and layers under such digests.
func TestOCIDigestsOfSHA512(t *testing.T) {
	registry := testsource.ServeOCI(t, false)
	long := func(data []byte) string {
		sum := sha512.Sum512(data)
		return "sha512:" + hex.EncodeToString(sum[:])
	}
	layer := testsource.TarGz(t, map[string]string{"a.yaml": "a"})
	manifest := []byte(fmt.Sprintf(`{"schemaVersion":2,"layers":[{"mediaType":%q,"digest":%q,"size":%d}]}`, contentLayer, long(layer), len(layer)))
	forged := bytes.Replace(manifest, []byte(`"schemaVersion":2`), []byte(`"schemaVersion":3`), 1)
	inner := registry.Config.Handler
	for _, tc := range []struct {
		name  string
		given []byte
		ref   corev1alpha1.OCIRef
		want  string
		err   error
	}{
		{name: "tag", given: manifest, ref: corev1alpha1.OCIRef{Tag: "1.0.0"}, want: "1.0.0@" + long(manifest)},
		{name: "digest", given: manifest, ref: corev1alpha1.OCIRef{Digest: long(manifest)}, want: long(manifest)},
		{name: "another manifest", given: forged, ref: corev1alpha1.OCIRef{Digest: long(manifest)}, err: fetch.ErrContent},
		{name: "too short", given: manifest, ref: corev1alpha1.OCIRef{Digest: long(manifest)[:100]}, err: fetch.ErrInvalid},
		{name: "of another algorithm", given: manifest, ref: corev1alpha1.OCIRef{Digest: "sha1:" + strings.Repeat("a", 40)}, err: fetch.ErrInvalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			const mediaType = "application/vnd.oci.image.manifest.v1+json"
			h := serving("/blobs/"+long(layer), "application/octet-stream", long(layer), layer, inner)
			h = serving("/manifests/1.0.0", mediaType, long(manifest), tc.given, h)
			registry.Config.Handler = serving("/manifests/"+long(manifest), mediaType, long(manifest), tc.given, h)
			a, err := newRig(t, fetch.Options{}).get(t, ociWant("oci://"+registry.Host(), "", artifactRef("app", tc.ref)))
			if tc.err != nil {
				g.Expect(errors.Is(err, tc.err)).To(BeTrue(), "%v", err)
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(a.Revision).To(Equal(tc.want))
			g.Expect(read(a, "a.yaml")).To(Equal("a"))
		})
	}
}
