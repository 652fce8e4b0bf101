// SPDX-License-Identifier: Apache-2.0

// Package tree reads the content of a source. The file system shows links as what they
// lead to; a link that it shows as a link cannot be followed, or leads in a circle.
package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Walk calls visit with every file under dir, in lexical order. Names are relative to dir.
// What skip tells to leave out is neither visited nor descended into. A link that cannot
// be followed is an error that names it.
func Walk(fsys fs.FS, dir string, skip func(name string, entry fs.DirEntry) bool, visit func(name string, entry fs.DirEntry) error) error {
	return fs.WalkDir(fsys, dir, func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := relative(dir, full)
		if name == "." {
			return nil
		}
		if skip(name, entry) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() {
			return nil
		}
		if entry, err = follow(fsys, full, entry); err != nil {
			return err
		}
		return visit(name, entry)
	})
}

// follow gives the file that an entry is or leads to.
func follow(fsys fs.FS, full string, entry fs.DirEntry) (fs.DirEntry, error) {
	if entry.Type()&fs.ModeSymlink != 0 {
		info, err := fs.Stat(fsys, full)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			return nil, fmt.Errorf("the link %s leads to a directory that it lies in", full)
		}
		entry = fs.FileInfoToDirEntry(info)
	}
	if !entry.Type().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", full)
	}
	return entry, nil
}

func relative(dir, full string) string {
	if full == dir {
		return "."
	}
	return strings.TrimPrefix(full, dir+"/")
}

// Inside gives the path of name, which is relative to dir and may go up, in the root. It
// is an error when it leaves the root.
func Inside(dir, name string) (string, error) {
	joined := path.Join(dir, name)
	if path.IsAbs(name) || !fs.ValidPath(joined) {
		return "", errors.New("the path leaves the source")
	}
	return joined, nil
}
