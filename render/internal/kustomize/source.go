// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/limit"
)

// source shows the content of a source to the library as a file system that begins at its
// root: "/apps/web" is apps/web of the source, and above "/" there is nothing. It can only
// be read. Files that would make the library look elsewhere are refused while they are
// read, because the library would otherwise have gone there before anyone could object.
type source struct {
	ctx  context.Context
	root fs.FS
	// most is how much may be read, left what of it is left.
	most, left int64
	// replaced is a file whose content is another than in the source.
	replacedName    string
	replacedContent []byte
	// files are those that were read.
	files map[string][]byte
	// refused is the first refusal.
	refused error
	// copies is true when a file has values copied from one object to another, which may be
	// annotations.
	copies bool
}

var _ filesys.FileSystem = (*source)(nil)

// open prepares the source for a build of the kustomization in dir, with what spec adds.
// With track, own tells that the build tracks origins though the kustomization does not ask for it.
func open(ctx context.Context, root fs.FS, dir string, spec corev1alpha1.KustomizeRender, most int64, track bool) (s *source, own bool, err error) {
	name, content, err := find(root, dir)
	if err != nil {
		return nil, false, err
	}
	edited, own, err := edit(content, spec, track)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", path.Join(dir, name), err)
	}
	return &source{ctx: ctx, root: root, most: most, left: most, replacedName: path.Join(dir, name), replacedContent: edited, files: map[string][]byte{}}, own, nil
}

// inside turns a path of the library into one of the source.
func inside(p string) string {
	if cleaned := path.Clean("/" + p); cleaned != "/" {
		return cleaned[1:]
	}
	return "."
}

// ReadFile reads a file of the source.
func (s *source) ReadFile(p string) ([]byte, error) {
	file := inside(p)
	content := s.replacedContent
	if file != s.replacedName {
		var err error
		if content, err = fs.ReadFile(s.root, file); err != nil {
			if stopped := (*limit.Error)(nil); errors.As(err, &stopped) && s.refused == nil {
				s.refused = err
			}
			return nil, err
		}
	}
	err := s.take(int64(len(content)))
	if err == nil {
		err = check(file, content)
		s.copies = s.copies || mayCopy(content)
	}
	if err != nil {
		if s.refused == nil {
			s.refused = err
		}
		return nil, err
	}
	s.files[file] = content
	return content, nil
}

// perRead is what a file counts besides its content: the library makes objects of it.
const perRead = 1024

// take counts what is read. It is the only place where a build can be stopped: the library
// reads a base once for every way that leads to it, and builds nothing that it has not read.
func (s *source) take(bytes int64) error {
	if s.ctx.Err() != nil {
		return limit.Time()
	}
	if s.left -= bytes + perRead; s.left < 0 {
		return limit.Of(limit.FlagBytes, "the kustomization reads more than %s, each file counted as often as it is read", limit.Size(s.most))
	}
	return nil
}

// Exists tells whether there is a file or directory.
func (s *source) Exists(p string) bool {
	_, err := fs.Stat(s.root, inside(p))
	return err == nil
}

// IsDir tells whether there is a directory.
func (s *source) IsDir(p string) bool {
	info, err := fs.Stat(s.root, inside(p))
	return err == nil && info.IsDir()
}

// ReadDir lists the names in a directory.
func (s *source) ReadDir(p string) ([]string, error) {
	entries, err := fs.ReadDir(s.root, inside(p))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// CleanedAbs parts a path into a directory and a file, which is "" for a directory.
func (s *source) CleanedAbs(p string) (filesys.ConfirmedDir, string, error) {
	info, err := fs.Stat(s.root, inside(p))
	if err != nil {
		return "", "", err
	}
	cleaned := path.Clean("/" + p)
	if info.IsDir() {
		return filesys.ConfirmedDir(cleaned), "", nil
	}
	return filesys.ConfirmedDir(path.Dir(cleaned)), path.Base(cleaned), nil
}

// Glob lists what matches a pattern, as paths from the root.
func (s *source) Glob(pattern string) ([]string, error) {
	matches, err := fs.Glob(s.root, strings.TrimPrefix(path.Clean("/"+pattern), "/"))
	for i := range matches {
		matches[i] = "/" + matches[i]
	}
	slices.Sort(matches)
	return matches, err
}

// Walk visits everything under a path.
func (s *source) Walk(p string, visit filepath.WalkFunc) error {
	return fs.WalkDir(s.root, inside(p), func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return visit("/"+file, nil, err)
		}
		info, err := entry.Info()
		return visit("/"+file, info, err)
	})
}

var errReadOnly = errors.New("the content of a source can only be read")

// Open is not needed to build.
func (s *source) Open(string) (filesys.File, error) { return nil, errReadOnly }

// Create is refused.
func (s *source) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir is refused.
func (s *source) Mkdir(string) error { return errReadOnly }

// MkdirAll is refused.
func (s *source) MkdirAll(string) error { return errReadOnly }

// RemoveAll is refused.
func (s *source) RemoveAll(string) error { return errReadOnly }

// WriteFile is refused.
func (s *source) WriteFile(string, []byte) error { return errReadOnly }
