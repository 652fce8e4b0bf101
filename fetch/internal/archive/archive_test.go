// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

func limits() backend.Limits {
	return backend.Limits{ContentBytes: 1 << 20, FileBytes: 1 << 19, Files: 100, PathBytes: 200, PathDepth: 10}
}

func TestUnpackRefuses(t *testing.T) {
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }
	link := func(kind byte, name, target string) tar.Header {
		return tar.Header{Name: name, Typeflag: kind, Linkname: target}
	}
	for _, tc := range []struct {
		name  string
		given []tar.Header
		want  error
		names string
	}{
		{"hard link to a neighbour", []tar.Header{file("c/victim"), link(tar.TypeLink, "c/x", "c/victim")}, fault.ErrContent, "c/x"},
		{"hard link out", []tar.Header{link(tar.TypeLink, "c/x", "../../etc/passwd")}, fault.ErrContent, "c/x"},
		{"symbolic link to a directory outside", []tar.Header{link(tar.TypeSymlink, "c/d", "/tmp"), file("c/d/evil")}, fault.ErrContent, "c/d"},
		{"symbolic link that climbs", []tar.Header{link(tar.TypeSymlink, "c/d", "../../x")}, fault.ErrContent, "c/d"},
		{"file through a symbolic link", []tar.Header{file("c/e/f"), link(tar.TypeSymlink, "c/d", "e"), file("c/d/evil")}, fault.ErrContent, "c/d"},
		{"climbing", []tar.Header{file("../evil")}, fault.ErrContent, "../evil"},
		{"climbing in the middle", []tar.Header{file("c/../../evil")}, fault.ErrContent, "c/../../evil"},
		{"absolute", []tar.Header{file("/abs")}, fault.ErrContent, "/abs"},
		{"drive", []tar.Header{file(`C:\evil`)}, fault.ErrContent, "C:"},
		{"drive without backslash", []tar.Header{file("C:evil")}, fault.ErrContent, "C:"},
		{"backslash", []tar.Header{file(`a\..\b`)}, fault.ErrContent, "a"},
		{"character device", []tar.Header{{Name: "c/dev", Typeflag: tar.TypeChar}}, fault.ErrContent, "c/dev"},
		{"pipe", []tar.Header{{Name: "c/fifo", Typeflag: tar.TypeFifo}}, fault.ErrContent, "c/fifo"},
		{"twice", []tar.Header{file("c/a"), file("c/a")}, fault.ErrContent, "c/a"},
		{"twice in another spelling", []tar.Header{file("c/a"), file("./c//a")}, fault.ErrContent, "c/a"},
		{"long name", []tar.Header{file(strings.Repeat("n", 5000))}, fault.ErrLimit, "nnn"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := Unpack(testsource.TarGzOf(t, tc.given, nil), Options{Limits: limits()})
			g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(tc.names))
		})
	}
}

func TestUnpack(t *testing.T) {
	g := NewWithT(t)
	headers := []tar.Header{
		{Name: "pax_global_header", Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}},
		{Name: "./", Typeflag: tar.TypeDir},
		{Name: "top/", Typeflag: tar.TypeDir},
		{Name: "top/run.sh", Typeflag: tar.TypeReg, Mode: 0o4755, Size: 2},
		{Name: "top/d/a.yaml", Typeflag: tar.TypeReg, Mode: 0o600, Size: 3},
		{Name: "top/link", Typeflag: tar.TypeSymlink, Linkname: "d/a.yaml"},
		{Name: "top/empty/", Typeflag: tar.TypeDir},
	}
	data := testsource.TarGzOf(t, headers, map[string]string{"top/run.sh": "hi", "top/d/a.yaml": "abc"})
	whole, err := Unpack(data, Options{Limits: limits()})
	g.Expect(err).NotTo(HaveOccurred())
	stripped, err := Unpack(data, Options{StripTop: true, Limits: limits()})
	g.Expect(err).NotTo(HaveOccurred())
	at, err := whole.DigestAt("top")
	g.Expect(err).NotTo(HaveOccurred())
	same, err := stripped.DigestAt(".")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(at).To(Equal(same))
	content, err := fs.ReadFile(stripped.FS(), "link")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(Equal("abc"))
	info, err := fs.Stat(stripped.FS(), "run.sh")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode()).To(Equal(fs.FileMode(0o755)), "special bits are dropped")
}

func TestStripTopNeedsOneFolder(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"file outside": {"top/a": "1", "b": "2"},
		"two folders":  {"one/a": "1", "two/b": "2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Unpack(testsource.TarGz(t, files), Options{StripTop: true, Limits: limits()})
			NewWithT(t).Expect(errors.Is(err, fault.ErrContent)).To(BeTrue(), "%v", err)
		})
	}
}

func TestBombs(t *testing.T) {
	many := func(n int) []byte {
		var headers []tar.Header
		for i := range n {
			headers = append(headers, tar.Header{Name: fmt.Sprintf("d/%d", i), Typeflag: tar.TypeReg})
		}
		return testsource.TarGzOf(t, headers, nil)
	}
	liar := testsource.TarGzOf(t, []tar.Header{{Name: "a", Typeflag: tar.TypeReg, Size: 3}}, map[string]string{"a": "abc"})
	for _, tc := range []struct {
		name  string
		given []byte
		want  error
	}{
		{"one large file", testsource.TarGz(t, map[string]string{"a": strings.Repeat("0", 1<<20)}), fault.ErrLimit},
		{"many files with much content", testsource.TarGz(t, map[string]string{"a": strings.Repeat("0", 1<<19), "b": strings.Repeat("0", 1<<19), "c": strings.Repeat("0", 1<<19)}), fault.ErrLimit},
		{"many empty entries", many(5000), fault.ErrLimit},
		{"cut off", liar[:len(liar)-20], fault.ErrContent},
		{"no gzip", []byte("PK\x03\x04"), fault.ErrContent},
		{"empty", nil, fault.ErrContent},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Unpack(tc.given, Options{Limits: limits()})
			NewWithT(t).Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
		})
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(testsource.TarGz(f, map[string]string{"c/a": "1", "c/d/b": "2"}))
	f.Add(testsource.TarGzOf(f, []tar.Header{{Name: "c/x", Typeflag: tar.TypeLink, Linkname: "../y"}}, nil))
	f.Add(testsource.TarGzOf(f, []tar.Header{{Name: "c/x", Typeflag: tar.TypeSymlink, Linkname: "../../y"}}, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := Unpack(data, Options{Limits: limits()})
		if err != nil {
			if fault.Kind(err) == nil {
				t.Fatalf("an error without kind: %v", err)
			}
			return
		}
		if tree.Bytes() > limits().ContentBytes || tree.Files() > limits().Files {
			t.Fatal("larger than the limits")
		}
	})
}
