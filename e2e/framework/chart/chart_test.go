// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
)

func files(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	g := NewWithT(t)
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	g.Expect(err).NotTo(HaveOccurred())
	found := map[string]string{}
	for reader := tar.NewReader(unzipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		g.Expect(err).NotTo(HaveOccurred())
		content, err := io.ReadAll(reader)
		g.Expect(err).NotTo(HaveOccurred())
		found[header.Name] = string(content)
	}
}

func shop() fstest.MapFS {
	return fstest.MapFS{
		"Chart.yaml":                {Data: []byte("apiVersion: v2\nname: shop\nversion: 1.2.3\n")},
		"templates/deployment.yaml": {Data: []byte("kind: Deployment\n")},
	}
}

func TestPack(t *testing.T) {
	g := NewWithT(t)
	archive, err := Pack(shop())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(archive.FileName()).To(Equal("shop-1.2.3.tgz"))
	g.Expect(archive.Metadata).To(HaveKeyWithValue("apiVersion", "v2"))
	g.Expect(files(t, archive.Content)).To(Equal(map[string]string{
		"shop/Chart.yaml":                "apiVersion: v2\nname: shop\nversion: 1.2.3\n",
		"shop/templates/deployment.yaml": "kind: Deployment\n",
	}))
	again, err := Pack(shop())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Digest()).To(Equal(archive.Digest()))
}

func TestPackVersion(t *testing.T) {
	g := NewWithT(t)
	archive, err := PackVersion(shop(), "2.0.0+build.1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(archive.Version).To(Equal("2.0.0+build.1"))
	g.Expect(files(t, archive.Content)["shop/Chart.yaml"]).To(ContainSubstring("version: 2.0.0+build.1\n"))
}

func TestPackRefuses(t *testing.T) {
	for _, test := range []struct {
		name  string
		given fstest.MapFS
	}{
		{name: "no Chart.yaml", given: fstest.MapFS{"values.yaml": {}}},
		{name: "no YAML", given: fstest.MapFS{"Chart.yaml": {Data: []byte("a: [")}}},
		{name: "no version", given: fstest.MapFS{"Chart.yaml": {Data: []byte("name: shop")}}},
		{name: "a number as version", given: fstest.MapFS{"Chart.yaml": {Data: []byte("name: shop\nversion: 1")}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Pack(test.given)
			NewWithT(t).Expect(err).To(HaveOccurred())
		})
	}
}
