// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"io/fs"
	"path"
	"sync"
)

// More gives a tree that holds what is at a path, with all below it. It ends with ctx.
type More func(ctx context.Context, path string) (*Tree, error)

// GrowingFS is FS, and reads what lies beyond from other trees: more gives them. It is asked when
// somebody reads there, and not again for what it has given. Reading ends with ctx; the method
// WithContext of the file system gives the same one, whose reading ends with another context.
func (t *Tree) GrowingFS(ctx context.Context, more More) fs.FS {
	return (&grown{view: view{t}, more: more}).WithContext(ctx)
}

// grown is what all growing file systems of a tree share.
type grown struct {
	view view
	more More

	mu   sync.Mutex
	rest []*Tree
}

type growing struct {
	*grown
	// bring asks more with the context of this file system.
	bring func(path string) (*Tree, error)
}

var (
	_ fs.ReadDirFS  = growing{}
	_ fs.ReadFileFS = growing{}
	_ fs.StatFS     = growing{}
)

// WithContext gives the file system whose reading ends with ctx.
func (g *grown) WithContext(ctx context.Context) fs.FS {
	return growing{g, func(path string) (*Tree, error) { return g.more(ctx, path) }}
}

// over returns the file system that shows a name.
func (g growing) over(op, name string) (view, error) {
	if !fs.ValidPath(name) || !g.view.tree.liesBeyond(name) {
		return g.view, nil
	}
	if t := g.known(name); t != nil {
		return view{t}, nil
	}
	var failure error
	for _, at := range around(name) {
		t, err := g.bring(at)
		if err == nil {
			return view{g.keep(t, name)}, nil
		}
		failure = err
	}
	return view{}, &fs.PathError{Op: op, Path: name, Err: failure}
}

// known returns the tree that shows a name, nil when it has to be asked for.
func (g *grown) known(name string) *Tree {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.find(name)
}

// find is known for who holds mu.
func (g *grown) find(name string) *Tree {
	for _, t := range g.rest {
		if !t.liesBeyond(name) {
			return t
		}
	}
	return nil
}

// keep keeps a tree that shows a name, unless somebody else has been given one meanwhile.
func (g *grown) keep(t *Tree, name string) *Tree {
	g.mu.Lock()
	defer g.mu.Unlock()
	if other := g.find(name); other != nil {
		return other
	}
	g.rest = append(g.rest, t)
	return t
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
func (g growing) Open(name string) (fs.File, error) {
	v, err := g.over("open", name)
	if err != nil {
		return nil, err
	}
	return v.Open(name)
}

// Stat describes what name leads to.
func (g growing) Stat(name string) (fs.FileInfo, error) {
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
func (g growing) ReadFile(name string) ([]byte, error) {
	v, err := g.over("read", name)
	if err != nil {
		return nil, err
	}
	return v.ReadFile(name)
}

// ReadDir lists a directory, sorted by name.
func (g growing) ReadDir(name string) ([]fs.DirEntry, error) {
	v, err := g.over("readdir", name)
	if err != nil {
		return nil, err
	}
	return v.ReadDir(name)
}
