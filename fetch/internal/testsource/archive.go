// SPDX-License-Identifier: Apache-2.0

package testsource

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TarGz makes an archive of files with their content.
func TarGz(t testing.TB, files map[string]string) []byte {
	t.Helper()
	headers := make([]tar.Header, 0, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		headers = append(headers, tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name]))})
	}
	return TarGzOf(t, headers, files)
}

// TarGzOf makes an archive of exactly these entries; contents has those of files.
func TarGzOf(t testing.TB, headers []tar.Header, contents map[string]string) []byte {
	t.Helper()
	return Gzip(t, TarOf(t, headers, contents))
}

// TarOf makes an archive that is not compressed.
func TarOf(t testing.TB, headers []tar.Header, contents map[string]string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, header := range headers {
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			if _, err := w.Write([]byte(contents[header.Name])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// Gzip compresses.
func Gzip(t testing.TB, data []byte) []byte {
	t.Helper()
	var buffer bytes.Buffer
	return written(t, &buffer, gzip.NewWriter(&buffer), data)
}

// Zstd compresses.
func Zstd(t testing.TB, data []byte, options ...zstd.EOption) []byte {
	t.Helper()
	var buffer bytes.Buffer
	z, err := zstd.NewWriter(&buffer, options...)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, &buffer, z, data)
}

func written(t testing.TB, to *bytes.Buffer, w io.WriteCloser, data []byte) []byte {
	t.Helper()
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
}

// Gunzip takes the compression of an archive off.
func Gunzip(t testing.TB, compressed []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Chart makes the archive of a small chart.
func Chart(t testing.TB, name, version string) []byte {
	t.Helper()
	return TarGz(t, map[string]string{
		name + "/Chart.yaml":             "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n",
		name + "/values.yaml":            "replicas: 1\n",
		name + "/templates/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
	})
}

// SHA256 returns the digest of data in hex.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
