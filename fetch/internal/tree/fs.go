// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"kumodo.io/convoy/fetch/internal/fault"
)

// FS returns the tree as a file system that follows links.
//
// A listing shows a link as what it leads to. Two kinds of link are shown as links, and so
// are not descended into by a walk: those that cannot be followed, whose reading is an
// error, and those to a directory that the listing lies in.
func (t *Tree) FS() fs.FS { return view{t} }

// HasFile says whether there is a file at name, through links too.
func (t *Tree) HasFile(name string) bool {
	at, _, err := t.lookup(name)
	return err == nil && at.node.kind != kindDir
}

type view struct{ tree *Tree }

var (
	_ fs.ReadDirFS  = view{}
	_ fs.ReadFileFS = view{}
	_ fs.StatFS     = view{}
)

func (v view) find(op, name string) (*place, []*node, error) {
	if !fs.ValidPath(name) {
		return nil, nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	at, passed, err := v.tree.lookup(name)
	if err != nil {
		return nil, nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return at, passed, nil
}

// Open opens a file or directory.
func (v view) Open(name string) (fs.File, error) {
	at, passed, err := v.find("open", name)
	if err != nil {
		return nil, err
	}
	info := infoOf(path.Base(name), at.node)
	if err := unreadable("read", name, at.node); err != nil {
		return absent{info: info, err: err}, nil
	}
	if at.node.kind == kindDir {
		return &directory{info: info, entries: list(at, passed)}, nil
	}
	return file{Reader: bytes.NewReader(at.node.data), info: info}, nil
}

// Stat describes what name leads to.
func (v view) Stat(name string) (fs.FileInfo, error) {
	at, _, err := v.find("stat", name)
	if err != nil {
		return nil, err
	}
	return infoOf(path.Base(name), at.node), nil
}

// ReadFile returns a copy of a file's content.
func (v view) ReadFile(name string) ([]byte, error) {
	at, _, err := v.find("read", name)
	if err != nil {
		return nil, err
	}
	if at.node.kind == kindDir {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsDir}
	}
	if err := unreadable("read", name, at.node); err != nil {
		return nil, err
	}
	// Never nil, as from a disk.
	return append([]byte{}, at.node.data...), nil
}

// ReadDir lists a directory, sorted by name.
func (v view) ReadDir(name string) ([]fs.DirEntry, error) {
	at, passed, err := v.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if at.node.kind != kindDir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDir}
	}
	if err := unreadable("readdir", name, at.node); err != nil {
		return nil, err
	}
	return list(at, passed), nil
}

type textError string

func (e textError) Error() string { return string(e) }

const (
	errIsDir  textError = "is a directory"
	errNotDir textError = "is not a directory"
)

// unreadable returns why a place has no content, nil when it has.
func unreadable(op, name string, n *node) error {
	switch {
	case n.missing != nil:
		// For who reads it, that something is missing is a fault of the content.
		text := n.missing.Error()
		if n.pointer {
			text = "the file is a Git LFS pointer, whose content is missing: " + text
		}
		return &fs.PathError{Op: op, Path: name, Err: fault.Rewrite(errors.Join(fault.ErrContent, n.missing), text)}
	case n.absent != nil:
		return &fs.PathError{Op: op, Path: name, Err: fault.Rewrite(errors.Join(fault.ErrContent, n.absent.error), n.absent.Error())}
	case n.pointer:
		return &fs.PathError{Op: op, Path: name, Err: fault.New(fault.ErrContent, "the file is a Git LFS pointer, whose content is not fetched here")}
	}
	return nil
}

func list(at *place, passed []*node) []fs.DirEntry {
	entries := make([]fs.DirEntry, 0, len(at.node.children))
	for _, c := range at.node.children {
		entries = append(entries, infoOf(c.name, seen(&place{up: at, name: c.name, node: c.node}, passed)))
	}
	return entries
}

// seen returns the node as which a listing shows p: what it leads to, or the link itself
// where following it is impossible or would lead a walk in circles.
func seen(p *place, passed []*node) *node {
	hops := 0
	to, err := p.follow(&hops)
	if err != nil || (p.node.kind == kindLink && to.node.kind == kindDir && slices.Contains(passed, to.node)) {
		return p.node
	}
	return to.node
}

// info describes a node; it is its own directory entry. Times are zero: content has none.
type info struct {
	name string
	mode fs.FileMode
	size int64
}

func infoOf(name string, n *node) info {
	i := info{name: name, size: int64(len(n.data))}
	switch n.kind {
	case kindDir:
		i.mode = fs.ModeDir | 0o755
	case kindLink:
		i.mode = fs.ModeSymlink | 0o777
	case kindExecutable:
		i.mode = 0o755
	default:
		i.mode = 0o644
	}
	return i
}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.size }
func (i info) Mode() fs.FileMode          { return i.mode }
func (i info) Type() fs.FileMode          { return i.mode.Type() }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) IsDir() bool                { return i.mode.IsDir() }
func (i info) Sys() any                   { return nil }
func (i info) Info() (fs.FileInfo, error) { return i, nil }
func (i info) String() string             { return fs.FormatDirEntry(i) }

type file struct {
	*bytes.Reader
	info info
}

func (f file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f file) Close() error               { return nil }

// WriteTo hands a copy to w, which could keep or change what it is given.
func (f file) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{f.Reader})
}

// absent can be opened and described, not read.
type absent struct {
	info info
	err  error
}

func (f absent) Stat() (fs.FileInfo, error)         { return f.info, nil }
func (f absent) Read([]byte) (int, error)           { return 0, f.err }
func (f absent) ReadDir(int) ([]fs.DirEntry, error) { return nil, f.err }
func (f absent) Close() error                       { return nil }

type directory struct {
	info    info
	entries []fs.DirEntry
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *directory) Close() error               { return nil }
func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: errIsDir}
}

// ReadDir returns the next n entries, or all that are left when n <= 0.
func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.entries) {
		if n > 0 && len(d.entries) == 0 {
			return nil, io.EOF
		}
		n = len(d.entries)
	}
	entries := d.entries[:n:n]
	d.entries = d.entries[n:]
	return entries, nil
}
