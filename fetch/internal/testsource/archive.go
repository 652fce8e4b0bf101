// SPDX-License-Identifier: Apache-2.0

package testsource

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"testing"
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
	var buffer bytes.Buffer
	z := gzip.NewWriter(&buffer)
	w := tar.NewWriter(z)
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
	for _, close := range []func() error{w.Close, z.Close} {
		if err := close(); err != nil {
			t.Fatal(err)
		}
	}
	return buffer.Bytes()
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
