// SPDX-License-Identifier: Apache-2.0

// Package chart packs a Helm chart's folder into the archive that repositories
// and registries hold. It knows as much of Helm as that needs: the name, the
// version and the layout of the archive; .helmignore is not read.
package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"
)

// Archive is a packed chart.
type Archive struct {
	Name, Version string
	Metadata      map[string]any // Chart.yaml
	Content       []byte         // tar, gzip
}

// FileName is the archive's customary name.
func (a *Archive) FileName() string { return a.Name + "-" + a.Version + ".tgz" }

// Digest returns the SHA-256 of the content in hexadecimal.
func (a *Archive) Digest() string {
	sum := sha256.Sum256(a.Content)
	return hex.EncodeToString(sum[:])
}

// Pack packs the chart whose Chart.yaml lies at the root of the file system.
// The same files give the same bytes.
func Pack(chart fs.FS) (*Archive, error) { return PackVersion(chart, "") }

// PackVersion packs the chart under another version than the one of its
// Chart.yaml; an empty version changes nothing.
func PackVersion(chart fs.FS, version string) (*Archive, error) {
	content, err := fs.ReadFile(chart, "Chart.yaml")
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	a := &Archive{}
	if err := yaml.Unmarshal(content, &a.Metadata); err != nil {
		return nil, fmt.Errorf("parse Chart.yaml: %w", err)
	}
	if version != "" {
		a.Metadata["version"] = version
		if content, err = yaml.Marshal(a.Metadata); err != nil {
			return nil, fmt.Errorf("encode Chart.yaml: %w", err)
		}
	}
	a.Name, _ = a.Metadata["name"].(string)
	a.Version, _ = a.Metadata["version"].(string)
	if a.Name == "" || a.Version == "" {
		return nil, errors.New("name and version in Chart.yaml must be strings")
	}
	a.Content, err = Tar(chart, a.Name+"/", map[string][]byte{"Chart.yaml": content})
	return a, err
}

// Tar packs the regular files of a file system into a gzipped tar, each path
// with the given prefix, in the order of their names and without times. Files
// named in replace have that content instead of their own.
func Tar(files fs.FS, prefix string, replace map[string][]byte) ([]byte, error) {
	buffer := &bytes.Buffer{}
	zip := gzip.NewWriter(buffer)
	archive := tar.NewWriter(zip)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, replaced := replace[path]
		if !replaced {
			if content, err = fs.ReadFile(files, path); err != nil {
				return err
			}
		}
		if err := archive.WriteHeader(&tar.Header{Name: prefix + path, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	if err := errors.Join(err, archive.Close(), zip.Close()); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return buffer.Bytes(), nil
}
