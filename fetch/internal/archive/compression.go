// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// Compression of an archive.
type Compression int

// The kinds of compression.
const (
	Gzip Compression = iota
	Zstd
	// None: a plain tar archive.
	None
	// Recognised is whichever of the others the first bytes tell of.
	Recognised
)

// String names the compression.
func (c Compression) String() string {
	return [...]string{"gzip", "zstd", "none", "recognised"}[c]
}

// maxWindow bounds the memory for what zstd refers back to. Encoders take 8 MiB, and 32 MiB
// at their highest levels, unless they are asked for more.
const maxWindow = 64 << 20

// decompress returns the archive that the data hold, bounded by what the limits let it be.
func decompress(data []byte, o Options) (io.ReadCloser, error) {
	kind := o.Compression
	if kind == Recognised {
		kind = recognise(data)
	}
	r, err := decoder(data, kind)
	if err != nil {
		return nil, err
	}
	return &inflated{ReadCloser: r, packed: int64(len(data)), limits: o.Limits}, nil
}

func recognise(data []byte) Compression {
	switch {
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		return Gzip
	case bytes.HasPrefix(data, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return Zstd
	}
	return None
}

func decoder(data []byte, kind Compression) (io.ReadCloser, error) {
	r := bytes.NewReader(data)
	switch kind {
	case None:
		return io.NopCloser(r), nil
	case Zstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil || len(data) == 0 {
			return nil, fault.New(fault.ErrContent, "the archive is not compressed with zstd")
		}
		return z.IOReadCloser(), nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fault.New(fault.ErrContent, "the archive is not compressed with gzip")
	}
	return z, nil
}

// inflated bounds what decompression may give.
type inflated struct {
	io.ReadCloser
	// packed is the size of the archive, read what has come out of it so far.
	packed, read int64
	limits       backend.Limits
}

func (i *inflated) Read(p []byte) (int, error) {
	n, err := i.ReadCloser.Read(p)
	i.read += int64(n)
	switch ratio := int64(i.limits.Ratio); {
	// Headers and padding count too: a file of nothing but headers can be as large.
	case i.read > i.limits.ContentBytes+int64(i.limits.Files)*2048:
		return 0, tree.TooLarge(i.limits)
	case i.read > backend.RatioFrom && i.read/ratio > i.packed:
		return 0, fault.New(fault.ErrLimit, "the archive has %s and grows to more than %d times as many when it is decompressed, the most that is accepted. Take what is not deployed out of the source, compress it less, or raise --%s", fault.Size(i.packed), ratio, backend.FlagRatio)
	}
	switch {
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		err = fault.New(fault.ErrLimit, "the archive needs more memory to be decompressed than the %s that are accepted", fault.Size(maxWindow))
	case errors.Is(err, zstd.ErrMagicMismatch):
		err = fault.New(fault.ErrContent, "the archive is not compressed with zstd")
	}
	return n, err
}
