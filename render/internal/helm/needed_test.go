// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/chart"
)

// TestLockFilesOfHelm has a digest that Helm made.
func TestLockFilesOfHelm(t *testing.T) {
	g := NewWithT(t)
	one := func(version string) []*chart.Dependency {
		return []*chart.Dependency{{Name: "alpine", Version: version, Repository: "http://localhost:8879/charts"}}
	}
	const digest = "sha256:fb239e836325c5fa14b29d1540a13b7d3ba13151b67fe719f820e0ef6d66aaaf"
	c := &chart.Chart{Metadata: &chart.Metadata{Dependencies: one("0.1.0")}, Lock: &chart.Lock{Digest: digest, Dependencies: one("0.1.0")}}
	g.Expect(inSync(c)).To(BeTrue())
	c.Metadata.Dependencies = one("^0.1.0")
	g.Expect(inSync(c)).To(BeFalse())
}

func TestArchivesInChartsFolders(t *testing.T) {
	archive := func(files map[string]string) *fstest.MapFile {
		var buffer bytes.Buffer
		z := gzip.NewWriter(&buffer)
		w := tar.NewWriter(z)
		for name, text := range files {
			NewWithT(t).Expect(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))})).To(Succeed())
			_, _ = w.Write([]byte(text))
		}
		NewWithT(t).Expect(errors.Join(w.Close(), z.Close())).To(Succeed())
		return &fstest.MapFile{Data: buffer.Bytes()}
	}
	root := fstest.MapFS{
		"charts/db.tgz":            archive(map[string]string{"db/Chart.yaml": "apiVersion: v2\nname: base\nversion: 1.0.0\n"}),
		"charts/none.tgz":          {Data: []byte("no archive")},
		"charts/folder/Chart.yaml": {Data: []byte("apiVersion: v2\nname: inside\nversion: 1.0.0\n")},
		"charts/README.md":         {Data: []byte("text")},
	}
	r := resolver{root: root, names: map[string]string{}}
	for _, tc := range []struct {
		entry string
		want  []string
	}{
		{"db-1.0.0.tgz", []string{"db"}},
		{"db-1.0.0-rc.1+up.tgz", []string{"db"}},
		{"db-proxy-1.0.0.tgz", []string{"db-proxy"}},
		{"db.tgz", []string{"base"}},
		{"none.tgz", []string{""}},
		{"_db-1.0.0.tgz", nil},
		{"folder", []string{"inside"}},
		{"README.md", nil},
	} {
		names, err := r.held("", tc.entry)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(names).To(Equal(tc.want), tc.entry)
	}
	r.unpacked = maxUnpacked
	_, err := r.held("", "db.tgz")
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "its name is known")
	root["charts/more.tgz"] = root["charts/db.tgz"]
	_, err = r.held("", "more.tgz")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("the archives in charts/ whose names have no version have more than 512 MiB")))
}
