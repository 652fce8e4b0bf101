// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"

	"kumodo.io/convoy/render/internal/limit"
)

// maxPath is how many bytes the name of an entry may have, as that of any file of a source.
const maxPath = 1024

// bounds are what may come out of an archive.
type bounds struct {
	// most bytes, and ratio times the archive's own size if that is more than ratioFrom; 0 is
	// no ratio.
	most, ratio int64
	// tooMuch is the error when it is more than most.
	tooMuch error
}

// filesOf reads the files of a chart's archive and tells how many bytes came out of it, which
// it does with an error, too. Its names are those that the library would give. What the
// library would pass over or read as an empty file is refused: a link, a special file, a name
// that is there twice. A chart that lacks a file without a word would have what it no longer
// renders deleted.
func filesOf(name string, archive []byte, b bounds) ([]*loader.BufferedFile, int64, error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, 0, fmt.Errorf("%s is not compressed with gzip", name)
	}
	stream := &inflated{r: z, name: name, packed: int64(len(archive)), bounds: b}
	r := &entryReader{tar: tar.NewReader(stream), stream: stream, seen: map[string]bool{}}
	for {
		header, err := r.tar.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.entry(header)
		}
		if err != nil {
			return nil, stream.came(), described(name, err)
		}
	}
	if len(r.files) == 0 {
		return nil, stream.came(), fmt.Errorf("%s holds no files", name)
	}
	return r.files, stream.came(), nil
}

// described puts the name of an archive before what is wrong in it.
func described(name string, err error) error {
	var stopped *limit.Error
	if errors.As(err, &stopped) {
		return err
	}
	return fmt.Errorf("unpacking %s: %w", name, err)
}

type entryReader struct {
	tar    *tar.Reader
	stream *inflated
	files  []*loader.BufferedFile
	seen   map[string]bool
}

func (r *entryReader) entry(header *tar.Header) error {
	switch header.Typeflag {
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return nil
	case tar.TypeReg, tar.TypeGNUSparse:
	case tar.TypeLink, tar.TypeSymlink:
		return fmt.Errorf("the entry %q is a link, which is refused; put the file itself into the archive", shortened(header.Name))
	default:
		return fmt.Errorf("the entry %q is neither file nor directory", shortened(header.Name))
	}
	name, err := nameInChart(header.Name)
	if err != nil {
		return err
	}
	if r.seen[name] {
		return fmt.Errorf("the entry %q is there twice", name)
	}
	r.seen[name] = true
	if header.Size > loader.MaxDecompressedFileSize {
		return fmt.Errorf("the entry %q is larger than %d bytes, the most that a file of a chart may have", name, loader.MaxDecompressedFileSize)
	}
	// Holes are nothing in the stream, and zeros in the file.
	if err := r.stream.hold(header.Size); err != nil {
		return err
	}
	data, err := io.ReadAll(r.tar)
	if err != nil {
		return err
	}
	r.files = append(r.files, &loader.BufferedFile{Name: name, Data: bytes.TrimPrefix(data, byteOrderMark)})
	return nil
}

// nameInChart gives the name that an entry has in the chart, without the folder that all lie
// in. Archives that were made on Windows may divide names by backslashes.
func nameInChart(entry string) (string, error) {
	if len(entry) > maxPath {
		return "", fmt.Errorf("the entry %q has a path of %d bytes; %d are accepted", shortened(entry), len(entry), maxPath)
	}
	name := strings.ReplaceAll(entry, `\`, "/")
	_, inside, below := strings.Cut(path.Clean(name), "/")
	switch {
	case path.IsAbs(name), strings.Contains("/"+name+"/", "/../"), hasDrive(name), hasDrive(inside), strings.ContainsRune(name, 0):
		return "", fmt.Errorf("the entry %q has a forbidden path", entry)
	case !below:
		return "", fmt.Errorf("the entry %q lies outside of the folder of the chart", entry)
	}
	return inside, nil
}

// hasDrive recognises C:\ and C:x, absolute paths elsewhere.
func hasDrive(name string) bool {
	return len(name) >= 2 && name[1] == ':' && 'a' <= name[0]|0x20 && name[0]|0x20 <= 'z'
}

// shortened cuts a name to what a message can show of it.
func shortened(name string) string {
	const shown = 100
	if len(name) <= shown {
		return name
	}
	return strings.ToValidUTF8(name[:shown], "") + "…"
}

// inflated reads what comes out of an archive, within its bounds. Headers and padding count:
// an archive of nothing but empty files can be as large as any.
type inflated struct {
	r    io.Reader
	name string
	// packed is the archive's own size; read came out of it so far, held is what its files
	// have.
	packed, read, held int64
	bounds             bounds
}

func (i *inflated) came() int64 { return max(i.read, i.held) }

func (i *inflated) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	i.read += int64(n)
	if stopped := i.check(); stopped != nil {
		return 0, stopped
	}
	return n, err
}

// hold counts what a file will have.
func (i *inflated) hold(bytes int64) error {
	i.held += bytes
	return i.check()
}

func (i *inflated) check() error {
	came, b := i.came(), i.bounds
	switch {
	case came > b.most:
		return b.tooMuch
	case b.ratio > 0 && came > ratioFrom && came/b.ratio > i.packed:
		return limit.Of(limit.FlagRatio, "%s has %d bytes and grows to more than %d times as many when it is unpacked", i.name, i.packed, b.ratio)
	}
	return nil
}
