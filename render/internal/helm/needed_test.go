// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	"helm.sh/helm/v3/pkg/chart"

	"kumodo.io/convoy/render/internal/limit"
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
		names, err := r.held(t.Context(), "", tc.entry)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(names).To(Equal(tc.want), tc.entry)
	}
	r.unpacked = maxUnpacked
	_, err := r.held(t.Context(), "", "db.tgz")
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "its name is known")
	root["charts/more.tgz"] = root["charts/db.tgz"]
	_, err = r.held(t.Context(), "", "more.tgz")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("the archives in charts/ whose names have no version have more than 512 MiB")))
}

// declaring is a chart with a dependency, and many charts in its charts/ folder of which each could
// be that.
func declaring(charts int, size int) fstest.MapFS {
	root := fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0, repository: 'https://charts.test'}]\n")}}
	for n := range charts {
		root[fmt.Sprintf("charts/x%d/Chart.yaml", n)] = &fstest.MapFile{Data: []byte("apiVersion: v2\nname: x\nversion: 1.0.0\n#" + strings.Repeat("x", size))}
	}
	return root
}

func TestDeclarationsAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		root fstest.MapFS
		want string
	}{
		"one":         {declaring(1, 256<<10), "charts/x0/Chart.yaml has more than 256 KiB"},
		"all":         {declaring(70, 250<<10), "the charts in charts/ folders have more than 16 MiB"},
		"as many do":  {declaring(200, 10<<10), ""},
		"a lock file": {fstest.MapFS{"Chart.yaml": declaring(0, 0)["Chart.yaml"], "Chart.lock": {Data: make([]byte, 257<<10)}}, "Chart.lock has more than 256 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, absent, err := Needed(t.Context(), tc.root, ".", func(Wanted) (Content, bool) { return Content{}, false })
			if tc.want != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
				g.Expect(errors.As(err, new(*limit.Error))).To(BeTrue())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(absent).To(Equal([]Absent{{Wanted: Wanted{Repository: "https://charts.test", Name: "db", Version: "1.0.0"}, Of: "top"}}))
		})
	}
}

// leaving ends a context when a file is read.
type leaving struct {
	fstest.MapFS
	file  string
	leave func()
	reads int
}

func (l *leaving) ReadFile(name string) ([]byte, error) {
	l.reads++
	if name == l.file {
		l.leave()
	}
	return l.MapFS.ReadFile(name)
}

func TestNeededEndsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	ctx, leave := context.WithCancel(t.Context())
	root := &leaving{MapFS: declaring(10, 10), file: "charts/x0/Chart.yaml", leave: leave}
	_, _, err := Needed(ctx, root, ".", nil)
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(root.reads).To(Equal(2))

	ctx, leave = context.WithCancel(t.Context())
	root = &leaving{MapFS: declaring(0, 0), file: "lib/a", leave: leave}
	root.MapFS["apps/top/Chart.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies: [{name: lib, version: '*', repository: 'file://../../lib'}]\n")}
	for _, name := range []string{"a", "b", "c"} {
		root.MapFS["lib/"+name] = &fstest.MapFile{}
	}
	root.MapFS["lib/Chart.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v2\nname: lib\nversion: 1.0.0\n")}
	_, _, err = Needed(ctx, root, "apps/top", nil)
	g.Expect(err).To(MatchError(context.Canceled))
}

// TestAFolderIsDigestedOnce has dependencies on one folder by different versions.
func TestAFolderIsDigestedOnce(t *testing.T) {
	g := NewWithT(t)
	root := &leaving{MapFS: fstest.MapFS{
		"apps/top/Chart.yaml": {Data: []byte("apiVersion: v2\nname: top\nversion: 1.0.0\ndependencies:\n- {name: lib, version: '*', repository: 'file://../../lib'}\n- {name: lib, version: '>0', repository: 'file://../../lib', alias: other}\n")},
		"lib/Chart.yaml":      {Data: []byte("apiVersion: v2\nname: lib\nversion: 1.0.0\n")},
		"lib/large":           {},
	}, file: "lib/large", leave: func() {}}
	read := 0
	root.leave = func() { read++ }
	found, _, err := Needed(t.Context(), root, "apps/top", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(2))
	g.Expect(read).To(Equal(1))
	g.Expect(found[0].Digest).To(Equal(found[1].Digest))
}

func TestDeclarations(t *testing.T) {
	for name, want := range map[string]bool{
		"Chart.yaml": true, "charts/a/Chart.lock": true, "charts/a/charts/b/requirements.yaml": true,
		"values.yaml": false, "files/Chart.yaml": false, "charts/Chart.yaml": false, "templates/charts/a/Chart.yaml": false,
	} {
		NewWithT(t).Expect(isDeclaration(name)).To(Equal(want), name)
	}
}
