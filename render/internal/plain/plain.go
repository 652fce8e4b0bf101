// SPDX-License-Identifier: Apache-2.0

// Package plain reads manifests that need no engine: every .yaml, .yml and .json file
// under a path. Files and directories whose name begins with a dot are left out; they
// configure tools, and are no manifests.
package plain

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/tree"
)

var extensions = []string{".yaml", ".yml", ".json"}

// Render gives the objects of every manifest under dir, in the order of file names. Every
// file must hold manifests; the error names the one that does not.
func Render(fsys fs.FS, dir string) ([]manifest.Document, error) {
	var documents []manifest.Document
	err := tree.Walk(fsys, dir, hidden, func(name string, _ fs.DirEntry) error {
		if !slices.Contains(extensions, strings.ToLower(path.Ext(name))) {
			return nil
		}
		full := path.Join(dir, name)
		content, err := fs.ReadFile(fsys, full)
		if err != nil {
			return err
		}
		decoded, err := manifest.Decode(full, content)
		documents = append(documents, decoded...)
		return err
	})
	return documents, err
}

func hidden(name string, _ fs.DirEntry) bool { return strings.HasPrefix(path.Base(name), ".") }
