// SPDX-License-Identifier: Apache-2.0

// Package plain reads manifests that need no engine: every .yaml, .yml and .json file
// under a path. Files and directories whose name begins with a dot are left out; they
// configure tools, and are no manifests.
package plain

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/tree"
)

var extensions = []string{".yaml", ".yml", ".json"}

// Render gives the objects of every manifest under dir, in the order of file names. Every
// file must hold manifests; the error names the one that does not. A *limit.Error is in its
// chain when the files have more than most bytes, or when ctx ends before all are read.
func Render(ctx context.Context, fsys fs.FS, dir string, most int64) ([]manifest.Document, error) {
	var documents []manifest.Document
	left := most
	err := tree.Walk(fsys, dir, hidden, func(name string, _ fs.DirEntry) error {
		if !slices.Contains(extensions, strings.ToLower(path.Ext(name))) {
			return nil
		}
		full := path.Join(dir, name)
		content, err := fs.ReadFile(fsys, full)
		if err != nil {
			return err
		}
		if left -= int64(len(content)); left < 0 {
			return limit.Of(limit.FlagBytes, "the manifests in %s have more than %s", dir, limit.Size(most))
		}
		if ctx.Err() != nil {
			return limit.Time()
		}
		decoded, err := manifest.Decode(full, content)
		documents = append(documents, decoded...)
		return err
	})
	return documents, err
}

func hidden(name string, _ fs.DirEntry) bool { return strings.HasPrefix(path.Base(name), ".") }
