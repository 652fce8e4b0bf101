// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"io/fs"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/limit"
)

// maxParsed is how large a file may be that is parsed before the engine runs, in a process that
// is not there for one render alone: a parser takes a hundred times as much. It is what Helm
// grants to a file of a chart.
const maxParsed = 5 << 20

// small is content of which files are read that may be parsed. A larger one is a *limit.Error.
type small struct{ root fs.FS }

var (
	_ fs.StatFS     = small{}
	_ fs.ReadDirFS  = small{}
	_ fs.ReadFileFS = small{}
)

func (s small) Open(name string) (fs.File, error) { return s.root.Open(name) }

func (s small) Stat(name string) (fs.FileInfo, error) { return fs.Stat(s.root, name) }

func (s small) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(s.root, name) }

func (s small) ReadFile(name string) ([]byte, error) {
	if info, err := fs.Stat(s.root, name); err == nil {
		if err := checkParsed(name, info.Size()); err != nil {
			return nil, err
		}
	}
	return fs.ReadFile(s.root, name)
}

func checkParsed(name string, size int64) error {
	if size <= maxParsed {
		return nil
	}
	return limit.New("%s has more than %s, the most that a file of values or of a chart may have", name, limit.Size(maxParsed))
}

// smallReferences are References of which files are read that may be parsed.
type smallReferences struct{ References }

func (r smallReferences) File(ctx context.Context, namespace string, ref corev1alpha1.ValuesReference) ([]byte, error) {
	text, err := r.References.File(ctx, namespace, ref)
	if err == nil {
		err = checkParsed(ref.Path, int64(len(text)))
	}
	return text, err
}
