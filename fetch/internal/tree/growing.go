// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"io/fs"
	"path"
	"sync"
)

// GrowingFS is FS, and reads what lies beyond from other trees: more gives one that holds what
// is at a path, with all below it. It is asked when somebody reads there, and not again for what
// it has given.
func (t *Tree) GrowingFS(more func(path string) (*Tree, error)) fs.FS {
	return &growing{view: view{t}, more: more}
}

type growing struct {
	view view
	more func(path string) (*Tree, error)

	mu   sync.Mutex
	rest []*Tree
}

var (
	_ fs.ReadDirFS  = &growing{}
	_ fs.ReadFileFS = &growing{}
	_ fs.StatFS     = &growing{}
)

// over returns the file system that shows a name.
func (g *growing) over(op, name string) (view, error) {
	if !fs.ValidPath(name) || !g.view.tree.liesBeyond(name) {
		return g.view, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.rest {
		if !t.liesBeyond(name) {
			return view{t}, nil
		}
	}
	var failure error
	for _, at := range around(name) {
		t, err := g.more(at)
		if err != nil {
			failure = err
			continue
		}
		g.rest = append(g.rest, t)
		return view{t}, nil
	}
	return view{}, &fs.PathError{Op: op, Path: name, Err: failure}
}

// around gives what is worth bringing for who reads a name: whoever reads one file of a
// directory goes on to the next one, most often.
func around(name string) []string {
	if dir := path.Dir(name); path.Ext(name) != "" && dir != "." {
		return []string{dir, name}
	}
	return []string{name}
}

// Open opens a file or directory.
func (g *growing) Open(name string) (fs.File, error) {
	v, err := g.over("open", name)
	if err != nil {
		return nil, err
	}
	return v.Open(name)
}

// Stat describes what name leads to.
func (g *growing) Stat(name string) (fs.FileInfo, error) {
	if fs.ValidPath(name) {
		if at, _, err := g.view.tree.lookup(name); err == nil && at.node.kind == kindDir {
			return infoOf(path.Base(name), at.node), nil
		}
	}
	v, err := g.over("stat", name)
	if err != nil {
		return nil, err
	}
	return v.Stat(name)
}

// ReadFile returns a copy of a file's content.
func (g *growing) ReadFile(name string) ([]byte, error) {
	v, err := g.over("read", name)
	if err != nil {
		return nil, err
	}
	return v.ReadFile(name)
}

// ReadDir lists a directory, sorted by name.
func (g *growing) ReadDir(name string) ([]fs.DirEntry, error) {
	v, err := g.over("readdir", name)
	if err != nil {
		return nil, err
	}
	return v.ReadDir(name)
}
