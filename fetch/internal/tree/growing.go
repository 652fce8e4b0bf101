// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
)

// More gives a tree that holds what is at a path, with all below it. It ends with ctx.
type More func(ctx context.Context, path string) (*Tree, error)

// GrowingFS is FS, and reads what lies beyond from other trees: more gives them. It is asked when
// somebody reads there, and not again for what it has given. Reading ends with ctx; the method
// WithContext of the file system gives the same one, whose reading ends with another context.
//
// The tree and what it grows by take no more memory than the content of one may have by limits:
// who reads what has no room gets fault.ErrLimit.
func (t *Tree) GrowingFS(ctx context.Context, limits backend.Limits, more More) fs.FS {
	return (&grown{view: view{t}, limits: limits, more: more, refused: map[string]error{}}).WithContext(ctx)
}

// grown is what all growing file systems of a tree share.
type grown struct {
	view   view
	limits backend.Limits
	more   More

	mu   sync.Mutex
	rest []brought
	// refused are the places that had no room, which there will not be later either.
	refused map[string]error
}

// brought is a tree that holds what is at a path.
type brought struct {
	path string
	tree *Tree
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
		t, err := g.grow(at, name)
		if err == nil {
			return view{t}, nil
		}
		failure = err
	}
	return view{}, &fs.PathError{Op: op, Path: name, Err: failure}
}

// grow brings what is at a path, for who reads a name there.
func (g growing) grow(at, name string) (*Tree, error) {
	if err := g.refusal(at); err != nil {
		return nil, err
	}
	t, err := g.bring(at)
	if err != nil {
		return nil, err
	}
	return g.keep(brought{at, t}, name)
}

// refusal returns why a place has no room, nil when nobody has tried.
func (g *grown) refusal(at string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused[at]
}

// known returns the tree that shows a name, nil when it has to be asked for.
func (g *grown) known(name string) *Tree {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.find(name)
}

// find is known for who holds mu.
func (g *grown) find(name string) *Tree {
	for _, b := range g.rest {
		if !b.tree.liesBeyond(name) {
			return b.tree
		}
	}
	return nil
}

// keep keeps a tree that shows a name, in place of those of what lies below, unless somebody
// else has been given one meanwhile. The error is fault.ErrLimit when it has no room.
func (g *grown) keep(b brought, name string) (*Tree, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if other := g.find(name); other != nil {
		return other, nil
	}
	rest := slices.DeleteFunc(slices.Clone(g.rest), func(other brought) bool { return strings.HasPrefix(other.path, b.path+"/") })
	rest = append(rest, b)
	size := g.view.tree.size()
	for _, b := range rest {
		size += b.tree.size()
	}
	if size > g.limits.ContentBytes {
		err := fault.New(fault.ErrLimit, "the content at the Release's path and what is read outside of it take more than %s together. %s", fault.Size(g.limits.ContentBytes), WayOut(backend.FlagContentBytes))
		g.refused[b.path] = err
		return nil, err
	}
	g.rest = rest
	return b.tree, nil
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
