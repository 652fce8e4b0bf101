// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"crypto/sha256"
	"errors"
	"slices"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
)

// Submodule is a directory whose content is that of another repository's commit.
type Submodule struct{ Path, Commit string }

// Pointer is a file that stands for another one, as Git LFS leaves it.
type Pointer struct {
	Path string
	// Content of the pointer itself.
	Content []byte
}

// Filling is what takes the place of a Submodule or Pointer: a tree, a file with its
// digest, or the reason why there is neither.
type Filling struct {
	// Tree may turn out not to fit; Name is what it is called then.
	Tree *Tree
	Name string
	File []byte
	Sum  [sha256.Size]byte
	Err  error
}

// HasParts says whether there are submodules or pointers.
func (t *Tree) HasParts() bool { return t.root.parts }

// Parts returns the submodules and pointers that have no content yet, sorted by path.
func (t *Tree) Parts() (submodules []Submodule, pointers []Pointer) {
	var walk func(path string, n *node)
	walk = func(path string, n *node) {
		switch {
		case !n.parts:
		case n.commit != "":
			submodules = append(submodules, Submodule{Path: path, Commit: n.commit})
		case n.pointer:
			pointers = append(pointers, Pointer{Path: path, Content: n.data})
		}
		for _, c := range n.children {
			walk(join(path, c.name), c.node)
		}
	}
	walk("", t.root)
	return submodules, pointers
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

// Regular returns the content of a file, without following links.
func (t *Tree) Regular(name string) ([]byte, bool) {
	n := t.root.child(name)
	if n == nil || (n.kind != kindFile && n.kind != kindExecutable) || n.pointer {
		return nil, false
	}
	return n.data, true
}

// PointersAt returns the paths of the pointers that a reader of the directory at path sees,
// through links too. A path that does not exist has none.
func (t *Tree) PointersAt(path string) map[string]bool {
	paths := map[string]bool{}
	t.look(path, func(p *place, _ error) {
		if p != nil && p.node.pointer {
			paths[p.path()] = true
		}
	})
	return paths
}

// Unavailable returns why a submodule is empty that a reader of the directory at path sees,
// or that the path leads into. nil means that there is none.
func (t *Tree) Unavailable(path string) error {
	return t.missingAt(path, func(n *node) bool { return n.kind == kindDir })
}

// Lacks says whether a reader of the directory at path sees anything that is missing.
func (t *Tree) Lacks(path string) bool {
	return t.missingAt(path, func(*node) bool { return true }) != nil
}

// missingAt returns why the first node is missing, of those that counts says count.
func (t *Tree) missingAt(path string, counts func(*node) bool) error {
	if !t.root.lacks {
		return nil
	}
	var found error
	t.look(path, func(p *place, err error) {
		var missing *missingError
		if p != nil && p.node.missing != nil && counts(p.node) {
			err = p.node.missing
		}
		if found == nil && errors.As(err, &missing) {
			found = err
		}
	})
	return found
}

// Incomplete returns why something is missing, nil when nothing is. Of several reasons it
// is one that can pass by itself, if there is such a one.
func (t *Tree) Incomplete() error {
	var found error
	var walk func(n *node)
	walk = func(n *node) {
		if !n.lacks {
			return
		}
		if n.missing != nil && (found == nil || lasting(found) && !lasting(n.missing)) {
			found = n.missing
		}
		for _, c := range n.children {
			walk(c.node)
		}
	}
	walk(t.root)
	return found
}

func lasting(err error) bool {
	return errors.Is(err, fault.ErrContent) || errors.Is(err, fault.ErrLimit)
}

// missingError marks the reason why the content of a place is not there.
type missingError struct{ error }

func (e *missingError) Unwrap() error { return e.error }

// look visits every place once that a reader of the directory at path comes by, or the
// error that a link, or the path itself, leads to.
func (t *Tree) look(path string, visit func(p *place, err error)) {
	at, _, err := t.lookup(path)
	if err != nil {
		visit(nil, err)
		return
	}
	seen := map[*node]bool{}
	todo := []*place{at}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[p.node] {
			continue
		}
		seen[p.node] = true
		visit(p, nil)
		for _, c := range slices.Backward(p.node.children) {
			hops := 0
			to, err := (&place{up: p, name: c.name, node: c.node}).follow(&hops)
			if err != nil {
				visit(nil, err)
				continue
			}
			todo = append(todo, to)
		}
	}
}

// With returns a tree in which fillings take the place of submodules and pointers, by their
// paths. The receiver, and the trees of fillings, stay as they are and share only the
// content of files with the new one. A tree with which there is more than the limits allow is
// missing, which is fault.ErrLimit for who reads it; files have to fit.
func (t *Tree) With(limits backend.Limits, fillings map[string]Filling) (*Tree, error) {
	f := filler{builder: NewBuilder(limits), fillings: fillings}
	// What is there already comes before what is filled in, wherever it lies.
	f.builder.files, f.builder.bytes, f.builder.beyond = t.files-t.beyond, t.bytes, t.beyond
	_, pointers := t.Parts()
	for _, pointer := range pointers {
		if filling, ok := fillings[pointer.Path]; ok && filling.Err == nil {
			f.builder.bytes += int64(len(filling.File) - len(pointer.Content))
		}
	}
	if f.builder.bytes > limits.ContentBytes {
		return nil, TooLarge(limits)
	}
	return f.builder.built(f.copy("", t.root)), nil
}

// filler copies nodes, since no two places share one. The Builder only counts.
type filler struct {
	builder  *Builder
	fillings map[string]Filling
}

func (f *filler) copy(path string, n *node) *node {
	if filling, ok := f.fillings[path]; ok && path != "" {
		return f.fill(path, n, filling)
	}
	copied := *n
	if n.kind != kindDir {
		return &copied
	}
	copied.children = make([]child, 0, len(n.children))
	for _, c := range n.children {
		copied.children = append(copied.children, child{name: c.name, node: f.copy(join(path, c.name), c.node)})
	}
	if n.missing == nil && n.absent == nil {
		copied.sumUp()
	}
	return &copied
}

func (f *filler) fill(path string, n *node, filling Filling) *node {
	if filling.Tree != nil {
		before := *f.builder
		err := f.takeAll(path, filling.Tree.root)
		if err == nil {
			// What is filled in has paths of its own; the fillings are not for those.
			return (&filler{}).copy("", filling.Tree.root)
		}
		f.builder.files, f.builder.bytes = before.files, before.bytes
		filling.Err = fault.Rewrite(err, filling.Name+": "+err.Error())
	}
	filled := &node{kind: n.kind, data: n.data, sum: n.sum, pointer: n.pointer, commit: n.commit, parts: true, lacks: true, missing: &missingError{filling.Err}}
	switch {
	case filling.Err == nil:
		filled = &node{kind: n.kind, data: filling.File, sum: filling.Sum}
	case n.kind == kindDir:
		// Not the digest of an empty directory: it changes when the content arrives.
		filled.sum = sha256.Sum256([]byte("missing submodule " + n.commit))
	}
	return filled
}

// takeAll counts what lies below a node against the limits.
func (f *filler) takeAll(path string, n *node) error {
	for _, c := range n.children {
		below := join(path, c.name)
		if err := f.builder.checkPath(below); err != nil {
			return err
		}
		if c.node.kind != kindDir && c.node.kind != kindLink {
			if f.builder.bytes += int64(len(c.node.data)); f.builder.bytes > f.builder.limits.ContentBytes {
				return TooLarge(f.builder.limits)
			}
		}
		if err := f.builder.count(); err != nil {
			return err
		}
		if err := f.takeAll(below, c.node); err != nil {
			return err
		}
	}
	return nil
}
