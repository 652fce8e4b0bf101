// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/internal/helm"
)

// entry is an entry of an archive.
type entry struct {
	header  tar.Header
	content string
}

func regular(name, content string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))}, content}
}

func special(kind byte, name, target string) entry {
	return entry{header: tar.Header{Name: name, Typeflag: kind, Linkname: target}}
}

// archived makes an archive of exactly these entries.
func archived(t testing.TB, entries ...entry) string {
	t.Helper()
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	w := tar.NewWriter(compressed)
	for _, e := range entries {
		err := w.WriteHeader(&e.header)
		if err == nil {
			_, err = w.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return archive.String()
}

var declared = regular("sub/Chart.yaml", "apiVersion: v2\nname: sub\nversion: 1.0.0\n")

// unusual are archives with an entry that no chart needs, and what the message names.
var unusual = []struct {
	name    string
	given   []entry
	message string
}{
	{"hard link to a neighbour", []entry{regular("sub/victim", "a"), special(tar.TypeLink, "sub/x", "sub/victim")}, `the entry "sub/x" is a link`},
	{"hard link to a file of the working directory", []entry{special(tar.TypeLink, "sub/x", "entries_test.go")}, `"sub/x" is a link`},
	{"hard link out", []entry{special(tar.TypeLink, "sub/x", "../../etc/passwd")}, `"sub/x" is a link`},
	{"symbolic link to a template", []entry{regular("sub/a.yaml", "a"), special(tar.TypeSymlink, "sub/templates/a.yaml", "../a.yaml")}, `"sub/templates/a.yaml" is a link`},
	{"symbolic link to a directory outside", []entry{special(tar.TypeSymlink, "sub/d", "/tmp"), regular("sub/d/evil", "a")}, `"sub/d" is a link`},
	{"climbing", []entry{regular("../evil", "a")}, `"../evil" has a forbidden path`},
	{"climbing in the middle", []entry{regular("sub/../../evil", "a")}, `"sub/../../evil" has a forbidden path`},
	{"climbing with backslashes", []entry{regular(`sub\..\..\evil`, "a")}, "has a forbidden path"},
	{"absolute", []entry{regular("/abs/a", "a")}, `"/abs/a" has a forbidden path`},
	{"drive", []entry{regular(`C:\evil\a`, "a")}, "has a forbidden path"},
	{"drive below the folder", []entry{regular("sub/C:/evil", "a")}, `"sub/C:/evil" has a forbidden path`},
	{"outside of the folder", []entry{regular("README.md", "a")}, `"README.md" lies outside of the folder of the chart`},
	{"character device", []entry{special(tar.TypeChar, "sub/dev", "")}, `"sub/dev" is neither file nor directory`},
	{"block device", []entry{special(tar.TypeBlock, "sub/dev", "")}, `"sub/dev" is neither file nor directory`},
	{"pipe", []entry{special(tar.TypeFifo, "sub/fifo", "")}, `"sub/fifo" is neither file nor directory`},
	{"twice", []entry{regular("sub/a", "a"), regular("sub/a", "b")}, `the entry "a" is there twice`},
	{"twice in another spelling", []entry{regular("sub/d/a", "a"), regular("sub/./d//a", "b")}, `"d/a" is there twice`},
	{"twice in two folders", []entry{regular("sub/a", "a"), regular("other/a", "b")}, `"a" is there twice`},
	{"long name", []entry{regular("sub/"+strings.Repeat("n", 5000), "a")}, "has a path of 5004 bytes; 1024 are accepted"},
	{"large file", []entry{regular("sub/a", strings.Repeat("\x00", 5<<20+1))}, `"a" is larger than 5242880 bytes`},
}

func TestArchivesInChartsAreRefused(t *testing.T) {
	for _, tc := range unusual {
		t.Run(tc.name, func(t *testing.T) {
			chart := files{"Chart.yaml": chartYAML, "charts/sub-1.0.0.tgz": archived(t, append([]entry{declared}, tc.given...)...)}
			_, err := helm.Render(t.Context(), request(t, chart, ""))
			NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("unpacking charts/sub-1.0.0.tgz: "), ContainSubstring(tc.message))))
		})
	}
	whole := archived(t, declared, regular("sub/a", strings.Repeat("a", 2000)))
	for name, tc := range map[string]struct{ given, want string }{
		"no archive":     {"version https://example.test/", "charts/sub-1.0.0.tgz is not compressed with gzip"},
		"no entries":     {archived(t), "charts/sub-1.0.0.tgz holds no files"},
		"cut off":        {whole[:len(whole)-20], "unpacking charts/sub-1.0.0.tgz: unexpected EOF"},
		"no tar archive": {compressed(t, "text that is no archive"), "unpacking charts/sub-1.0.0.tgz: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := helm.Render(t.Context(), request(t, files{"Chart.yaml": chartYAML, "charts/sub-1.0.0.tgz": tc.given}, ""))
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

func compressed(t testing.TB, text string) string {
	t.Helper()
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	_, err := z.Write([]byte(text))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return archive.String()
}

func TestArchivesInChartsAreRead(t *testing.T) {
	template := dump("sub", "1")
	for name, entries := range map[string][]entry{
		"as Helm packs it": {declared, regular("sub/templates/a.yaml", template)},
		"with directories and a global header": {special(tar.TypeXGlobalHeader, "pax_global_header", ""), special(tar.TypeDir, "./", ""), special(tar.TypeDir, "sub/", ""),
			regular("./sub/Chart.yaml", declared.content), special(tar.TypeDir, "sub/templates/", ""), regular("./sub/templates/a.yaml", template)},
		"in a folder of another name": {regular("folder/Chart.yaml", declared.content), regular("folder/templates/a.yaml", template)},
		"made on Windows":             {regular(`sub\Chart.yaml`, "\xef\xbb\xbf"+declared.content), regular(`sub\templates\a.yaml`, template)},
	} {
		t.Run(name, func(t *testing.T) {
			if entries[0].header.Typeflag == tar.TypeXGlobalHeader {
				entries[0].header = tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}}
			}
			output := render(t, files{"Chart.yaml": chartYAML, "charts/sub-1.0.0.tgz": archived(t, entries...)}, "")
			NewWithT(t).Expect(names(output.Objects)).To(Equal([]string{"ConfigMap sub < web/charts/sub/templates/a.yaml"}))
		})
	}
}

// TestArchivesOfNothing have more headers than content, which count all the same.
func TestArchivesOfNothing(t *testing.T) {
	entries := []entry{declared}
	for i := range 40_000 {
		entries = append(entries, regular(fmt.Sprintf("sub/%d", i), ""))
	}
	chart := files{"Chart.yaml": chartYAML, "charts/sub-1.0.0.tgz": archived(t, entries...)}
	for _, tc := range []struct {
		name  string
		ratio int
		want  string
	}{
		{"held to the ratio", 10, "grows to more than 10 times as many when it is unpacked; raise --artifact-max-ratio"},
		{"held to the bytes of all", 100_000, "the archives in charts/ have more than 16 MiB; raise --render-max-bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := request(t, chart, "")
			r.Ratio = tc.ratio
			_, err := helm.Render(t.Context(), r)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

// TestHolesCount: a file of holes is nothing in an archive, and as large as it says once it
// is read.
func TestHolesCount(t *testing.T) {
	const size = 5 << 20
	var whole bytes.Buffer
	for i := range 4 {
		var one bytes.Buffer
		w := tar.NewWriter(&one)
		err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("sub/%d", i), Typeflag: tar.TypeReg, Mode: 0o644, Size: 1, Format: tar.FormatGNU})
		if err == nil {
			_, err = w.Write([]byte("x"))
		}
		if err := errors.Join(err, w.Flush()); err != nil {
			t.Fatal(err)
		}
		// GNU's form: the type, the one part that is there, the size with the holes.
		header := one.Bytes()[:512]
		header[156] = tar.TypeGNUSparse
		copy(header[386:], fmt.Sprintf("%011o\x00%011o\x00", size-1, 1))
		copy(header[483:], fmt.Sprintf("%011o\x00", size))
		copy(header[148:156], "        ")
		sum := 0
		for _, b := range header {
			sum += int(b)
		}
		copy(header[148:156], fmt.Sprintf("%06o\x00 ", sum))
		whole.Write(one.Bytes())
	}
	whole.Write(make([]byte, 1024))
	_, err := helm.Render(t.Context(), request(t, files{"Chart.yaml": chartYAML, "charts/sub-1.0.0.tgz": compressed(t, whole.String())}, ""))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("grows to more than 100 times as many")))
}
