// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/testsource"
)

func limits() backend.Limits {
	return backend.Limits{ContentBytes: 1 << 20, FileBytes: 1 << 19, Files: 100, PathBytes: 200, PathDepth: 10}
}

// compressions are all that an archive can have.
var compressions = map[Compression]func(testing.TB, []byte) []byte{
	Gzip: testsource.Gzip,
	Zstd: func(t testing.TB, data []byte) []byte { return testsource.Zstd(t, data) },
	None: func(_ testing.TB, data []byte) []byte { return data },
}

func file(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }

func link(kind byte, name, target string) tar.Header {
	return tar.Header{Name: name, Typeflag: kind, Linkname: target}
}

// refused is an archive that is not unpacked.
type refused struct {
	name  string
	given []tar.Header
	want  error
	// names is what the message names.
	names string
}

// refusals are entries by which archives reach out of themselves, or say two things at once.
func refusals() []refused {
	return []refused{
		{"hard link to a neighbour", []tar.Header{file("c/victim"), link(tar.TypeLink, "c/x", "c/victim")}, fault.ErrContent, "c/x"},
		{"hard link to a file of the working directory", []tar.Header{link(tar.TypeLink, "c/x", "archive_test.go")}, fault.ErrContent, "c/x"},
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
		{"block device", []tar.Header{{Name: "c/dev", Typeflag: tar.TypeBlock}}, fault.ErrContent, "c/dev"},
		{"pipe", []tar.Header{{Name: "c/fifo", Typeflag: tar.TypeFifo}}, fault.ErrContent, "c/fifo"},
		{"twice", []tar.Header{file("c/a"), file("c/a")}, fault.ErrContent, "c/a"},
		{"twice in another spelling", []tar.Header{file("c/a"), file("./c//a")}, fault.ErrContent, "c/a"},
		{"file as a directory", []tar.Header{file("c/a"), file("c/a/b")}, fault.ErrContent, "c/a"},
		{"long name", []tar.Header{file(strings.Repeat("n", 5000))}, fault.ErrLimit, "nnn"},
	}
}

func TestUnpackRefuses(t *testing.T) {
	for _, tc := range refusals() {
		for compression, compress := range compressions {
			t.Run(tc.name+"/"+compression.String(), func(t *testing.T) {
				g := NewWithT(t)
				_, err := Unpack(t.Context(), compress(t, testsource.TarOf(t, tc.given, nil)), Options{Compression: compression, Limits: limits()})
				g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.names))
			})
		}
	}
}

// withNUL has a name with a NUL in it.
func withNUL(t testing.TB) []byte {
	// An accent makes the name an extended record, in which a NUL can be put.
	named := testsource.TarOf(t, []tar.Header{file("a\u00e9b")}, nil)
	return bytes.Replace(named, []byte("\u00e9"), []byte("\x00_"), 1)
}

func TestUnpackRefusesNUL(t *testing.T) {
	_, err := Unpack(t.Context(), withNUL(t), Options{Compression: None, Limits: limits()})
	NewWithT(t).Expect(errors.Is(err, fault.ErrContent)).To(BeTrue(), "%v", err)
}

// sparseFile is a file with nothing but a hole, in the format that is asked for: the older one
// of GNU, or that of extended records.
func sparseFile(t testing.TB, extended bool) []byte {
	if extended {
		// The library writes no such records: those of another name are made into them.
		header := file("c/hole")
		header.PAXRecords = map[string]string{"GNU!sparse.major": "0", "GNU!sparse.minor": "1", "GNU!sparse.size": "1000", "GNU!sparse.numblocks": "1", "GNU!sparse.map": "1000,0"}
		return bytes.ReplaceAll(testsource.TarOf(t, []tar.Header{header}, nil), []byte("GNU!sparse"), []byte("GNU.sparse"))
	}
	data := testsource.TarOf(t, []tar.Header{file("c/hole")}, nil)
	header := data[:512]
	header[156] = tar.TypeGNUSparse
	copy(header[257:], "ustar  \x00")
	copy(header[386:], fmt.Sprintf("%011o\x00%011o\x00", 1000, 0))
	copy(header[483:], fmt.Sprintf("%011o\x00", 1000))
	copy(header[148:], "        ")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
	return data
}

func TestUnpackRefusesHoles(t *testing.T) {
	for name, extended := range map[string]bool{"older": false, "extended records": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := Unpack(t.Context(), sparseFile(t, extended), Options{Compression: None, Limits: limits()})
			g.Expect(errors.Is(err, fault.ErrContent)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(`"c/hole" is a sparse file, which is refused`)))
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
	whole, err := Unpack(t.Context(), data, Options{Limits: limits()})
	g.Expect(err).NotTo(HaveOccurred())
	stripped, err := Unpack(t.Context(), data, Options{StripTop: true, Limits: limits()})
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
			_, err := Unpack(t.Context(), testsource.TarGz(t, files), Options{StripTop: true, Limits: limits()})
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
		return testsource.TarOf(t, headers, nil)
	}
	zeros := func(name string, n int) []byte {
		return testsource.TarOf(t, []tar.Header{{Name: name, Typeflag: tar.TypeReg, Size: int64(n)}}, map[string]string{name: strings.Repeat("0", n)})
	}
	honest := testsource.TarOf(t, []tar.Header{{Name: "a", Typeflag: tar.TypeReg, Size: 3}}, map[string]string{"a": "abc"})
	for _, tc := range []struct {
		name  string
		given []byte
		want  error
	}{
		{"one large file", zeros("a", 1<<20), fault.ErrLimit},
		{"far more than is ever read", zeros("a", 16<<20), fault.ErrLimit},
		{"much content in few files", slices.Concat(withoutEnd(zeros("a", 1<<19)), withoutEnd(zeros("b", 1<<19)), zeros("c", 1<<19)), fault.ErrLimit},
		{"many empty entries", many(5000), fault.ErrLimit},
		{"many entries for one directory", slices.Repeat(withoutEnd(testsource.TarOf(t, []tar.Header{{Name: "./", Typeflag: tar.TypeDir}}, nil)), 5000), fault.ErrLimit},
		{"long names of nothing", bytes.Repeat(longName(withoutEnd(zeros("a", 1<<19))), 16), fault.ErrLimit},
		{"a size that is a lie", liar(honest), fault.ErrLimit},
		{"cut off", honest[:512], fault.ErrContent},
	} {
		for compression, compress := range compressions {
			t.Run(tc.name+"/"+compression.String(), func(t *testing.T) {
				_, err := Unpack(t.Context(), compress(t, tc.given), Options{Compression: compression, Limits: limits()})
				NewWithT(t).Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
			})
		}
	}
}

// TestRatio has archives that are below every other limit.
func TestRatio(t *testing.T) {
	const mib = 1 << 20
	roomy := backend.DefaultLimits()
	file := func(text string) []byte {
		return testsource.TarOf(t, []tar.Header{{Name: "a", Typeflag: tar.TypeReg, Size: int64(len(text))}}, map[string]string{"a": text})
	}
	noise := make([]byte, mib)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	var definitions strings.Builder
	for i := range 1024 {
		fmt.Fprintf(&definitions, "%x\n%s", noise[i*512:(i+1)*512], strings.Repeat("  description: text\n", 1024))
	}
	for _, tc := range []struct {
		name  string
		given []byte
		ratio int
		want  string
	}{
		{"little that repeats itself", file(strings.Repeat("0", 7*mib)), 100, ""},
		{"much that repeats itself", file(strings.Repeat("0", 12*mib)), 100, "grows to more than 100 times as many when it is decompressed"},
		{"the same where it is accepted", file(strings.Repeat("0", 12*mib)), 100_000, ""},
		{"usual content and much that repeats itself", file(string(noise) + strings.Repeat("0", 12*mib)), 100, ""},
		{"text as of many definitions", file(definitions.String()), 100, ""},
	} {
		for _, compression := range []Compression{Gzip, Zstd} {
			t.Run(tc.name+"/"+compression.String(), func(t *testing.T) {
				g := NewWithT(t)
				limits := roomy
				limits.Ratio = tc.ratio
				packed := compressions[compression](t, tc.given)
				_, err := Unpack(t.Context(), packed, Options{Compression: compression, Limits: limits})
				if tc.want == "" {
					g.Expect(err).NotTo(HaveOccurred())
					return
				}
				g.Expect(errors.Is(err, fault.ErrLimit)).To(BeTrue(), "%v", err)
				g.Expect(err).To(MatchError(And(HavePrefix(fmt.Sprintf("the archive has %d bytes", len(packed))), ContainSubstring(tc.want))))
			})
		}
	}
}

// withoutEnd takes the empty blocks off that end an archive.
func withoutEnd(archive []byte) []byte { return archive[:len(archive)-1024] }

// liar makes the first header claim a terabyte.
func liar(archive []byte) []byte {
	return patched(archive, 124, "\x80\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00")
}

// longName makes the first entry the long name of the next one.
func longName(archive []byte) []byte { return patched(archive, 156, "L") }

// patched changes the first header and makes its checksum right.
func patched(archive []byte, at int, with string) []byte {
	changed := bytes.Clone(archive)
	copy(changed[at:], with)
	copy(changed[148:156], "        ")
	sum := 0
	for _, b := range changed[:512] {
		sum += int(b)
	}
	copy(changed[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return changed
}

// TestMembers reads what is compressed in several parts as one archive, within the limits of
// one.
func TestMembers(t *testing.T) {
	small := testsource.TarOf(t, []tar.Header{{Name: "a", Typeflag: tar.TypeReg, Size: 3}}, map[string]string{"a": "abc"})
	for compression, compress := range compressions {
		t.Run(compression.String(), func(t *testing.T) {
			g := NewWithT(t)
			whole, err := Unpack(t.Context(), slices.Concat(compress(t, small[:700]), compress(t, small[700:])), Options{Compression: compression, Limits: limits()})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(whole.Files()).To(Equal(1))
			part := make([]byte, 1<<19) // zeros between the entries end an archive
			copy(part, withoutEnd(testsource.TarOf(t, []tar.Header{{Name: "b", Typeflag: tar.TypeReg, Size: 1<<19 - 1024}}, map[string]string{"b": strings.Repeat("0", 1<<19-1024)})))
			_, err = Unpack(t.Context(), bytes.Repeat(compress(t, part), 16), Options{Compression: compression, Limits: limits()})
			g.Expect(fault.Kind(err)).NotTo(BeNil(), "%v", err)
		})
	}
}

func TestCompression(t *testing.T) {
	plain := testsource.TarOf(t, []tar.Header{{Name: "a", Typeflag: tar.TypeReg, Size: 3}}, map[string]string{"a": "abc"})
	for _, tc := range []struct {
		name        string
		compression Compression
		given       []byte
		want        error
		wantText    string
	}{
		{name: "recognised gzip", compression: Recognised, given: testsource.Gzip(t, plain)},
		{name: "recognised zstd", compression: Recognised, given: testsource.Zstd(t, plain)},
		{name: "recognised as none", compression: Recognised, given: plain},
		{name: "zstd at its best", compression: Zstd, given: testsource.Zstd(t, plain, zstd.WithEncoderLevel(zstd.SpeedBestCompression))},
		{name: "no gzip", given: []byte("PK\x03\x04"), want: fault.ErrContent, wantText: "not compressed with gzip"},
		{name: "no zstd", compression: Zstd, given: []byte("PK\x03\x04"), want: fault.ErrContent, wantText: "not compressed with zstd"},
		{name: "empty", want: fault.ErrContent, wantText: "not compressed with gzip"},
		{name: "empty zstd", compression: Zstd, want: fault.ErrContent, wantText: "not compressed with zstd"},
		{name: "cut off", compression: Zstd, given: testsource.Zstd(t, plain)[:20], want: fault.ErrContent, wantText: "damaged"},
		{name: "a window of 128 MiB", compression: Zstd, given: []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 0x01, 0x00, 0x00}, want: fault.ErrLimit, wantText: "needs more memory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			whole, err := Unpack(t.Context(), tc.given, Options{Compression: tc.compression, Limits: limits()})
			if tc.want != nil {
				g.Expect(errors.Is(err, tc.want)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(tc.wantText))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(whole.Files()).To(Equal(1))
		})
	}
}

func FuzzUnpack(f *testing.F) {
	archives := [][]byte{testsource.Gunzip(f, testsource.TarGz(f, map[string]string{"c/a": "1", "c/d/b": "2"})), withNUL(f),
		testsource.TarOf(f, []tar.Header{link(tar.TypeSymlink, "c/x", "d/y"), file("c/d/y"), {Name: "c/run", Typeflag: tar.TypeReg, Mode: 0o4755}}, nil)}
	for _, odd := range refusals() {
		archives = append(archives, testsource.TarOf(f, odd.given, nil))
	}
	for _, archive := range archives {
		for compression, compress := range compressions {
			f.Add(compress(f, archive), int(compression))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, compression int) {
		tree, err := Unpack(t.Context(), data, Options{Compression: Compression(compression & 3), Limits: limits()})
		if err != nil {
			if fault.Kind(err) == nil {
				t.Fatalf("an error without kind: %v", err)
			}
			return
		}
		if tree.Bytes() > limits().ContentBytes || tree.Files() > limits().Files {
			t.Fatal("larger than the limits")
		}
		_ = fs.WalkDir(tree.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
			if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") || err == nil && entry.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 {
				t.Fatalf("the tree holds %q", name)
			}
			return nil
		})
	})
}
