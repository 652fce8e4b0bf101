// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"crypto/sha256"
	"io/fs"
	"slices"
	"strings"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
)

// WayOut is what to do about content that exceeds the limit that a flag sets.
func WayOut(flag string) string {
	return "Take what is not deployed out of the source, split it, or raise --" + flag
}

// Builder collects a tree. It refuses names that could mean a place outside the tree, the
// same name twice, and whatever exceeds its limits.
type Builder struct {
	limits backend.Limits
	root   *draft
	files  int
	bytes  int64
	// beyond counts the places that do not count as files.
	beyond int
}

// draft is a directory that is being filled; node is set for everything else.
type draft struct {
	node     *node
	children map[string]*draft
}

// NewBuilder returns a Builder of an empty tree.
func NewBuilder(limits backend.Limits) *Builder {
	return &Builder{limits: limits, root: &draft{children: map[string]*draft{}}}
}

// Room returns how many bytes the next file may have, and the flag that says so.
func (b *Builder) Room() (bytes int64, flag string) {
	if left := b.limits.ContentBytes - b.bytes; left < b.limits.FileBytes {
		return max(0, left), backend.FlagContentBytes
	}
	return b.limits.FileBytes, backend.FlagFileBytes
}

// Dir adds a directory; one that exists is fine.
func (b *Builder) Dir(path string) error {
	if err := b.checkPath(path); err != nil {
		return err
	}
	_, err := b.dir(path)
	return err
}

// Submodule adds a directory for the content of another repository's commit. Until it is
// filled it is an empty one.
func (b *Builder) Submodule(path, commit string) error {
	return b.add(path, &node{kind: kindDir, sum: sumEntries(nil), commit: commit, parts: true})
}

// File adds a file. The content belongs to the tree from now on.
func (b *Builder) File(path string, content []byte, executable bool) error {
	n := &node{kind: kindFile, data: content, sum: sha256.Sum256(content), pointer: isPointer(content)}
	n.parts = n.pointer
	if executable {
		n.kind = kindExecutable
	}
	if int64(len(content)) > b.limits.FileBytes {
		return fault.New(fault.ErrLimit, "%q has %s; a file may have %s. %s", path, fault.Size(int64(len(content))), fault.Size(b.limits.FileBytes), WayOut(backend.FlagFileBytes))
	}
	if b.bytes += int64(len(content)); b.bytes > b.limits.ContentBytes {
		return TooLarge(b.limits)
	}
	return b.add(path, n)
}

// TooLarge is the error for content that exceeds the limit of all files together.
func TooLarge(limits backend.Limits) error {
	return fault.New(fault.ErrLimit, "the content has more than %s when it is unpacked. %s", fault.Size(limits.ContentBytes), WayOut(backend.FlagContentBytes))
}

// Link adds a symbolic link. Where it leads is looked at when it is read.
func (b *Builder) Link(path, target string) error {
	if err := b.CheckTarget(path, target); err != nil {
		return err
	}
	return b.add(path, &node{kind: kindLink, data: []byte(target), sum: sha256.Sum256([]byte(target)), links: true})
}

// CheckTarget says what is wrong with what a link at path points to, before it is added.
func (b *Builder) CheckTarget(path, target string) error {
	if target == "" || len(target) > b.limits.PathBytes || strings.ContainsRune(target, 0) {
		return fault.New(fault.ErrContent, "the target of the link %q is empty, too long or malformed", path)
	}
	return nil
}

func (b *Builder) add(path string, n *node) error {
	if err := b.checkPath(path); err != nil {
		return err
	}
	if err := b.put(path, n); err != nil {
		return err
	}
	return b.count()
}

// put adds a place without counting it.
func (b *Builder) put(path string, n *node) error {
	parent, name := b.root, path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		var err error
		if parent, err = b.dir(path[:i]); err != nil {
			return err
		}
		name = path[i+1:]
	}
	if _, ok := parent.children[name]; ok {
		return fault.New(fault.ErrContent, "the content holds %q twice", path)
	}
	parent.children[name] = &draft{node: n}
	return nil
}

// dir returns the directory at path and makes what is missing of it.
func (b *Builder) dir(path string) (*draft, error) {
	at := b.root
	for name := range strings.SplitSeq(path, "/") {
		next, ok := at.children[name]
		switch {
		case !ok:
			next = &draft{children: map[string]*draft{}}
			at.children[name] = next
			if err := b.count(); err != nil {
				return nil, err
			}
		case next.node != nil:
			// Writing through a link is how archives escape; here it is an error like
			// any other name that is taken.
			return nil, fault.New(fault.ErrContent, "the content holds %q twice: as a directory and as something else", path)
		}
		at = next
	}
	return at, nil
}

func (b *Builder) count() error {
	if b.files++; b.files > b.limits.Files {
		return fault.New(fault.ErrLimit, "the content has more than %d files and directories. %s", b.limits.Files, WayOut(backend.FlagFiles))
	}
	return nil
}

// CheckLength says whether a path is longer or deeper than one may be.
func (b *Builder) CheckLength(path string) error {
	switch {
	case len(path) > b.limits.PathBytes:
		return fault.New(fault.ErrLimit, "the path %q… has %d bytes; a path may have %d. Shorten it, or take it out of the source", path[:min(40, len(path))], len(path), b.limits.PathBytes)
	case strings.Count(path, "/") >= b.limits.PathDepth:
		return fault.New(fault.ErrLimit, "the path %q has more than %d elements. Move it up, or take it out of the source", path, b.limits.PathDepth)
	}
	return nil
}

func (b *Builder) checkPath(path string) error {
	if err := b.CheckLength(path); err != nil {
		return err
	}
	return b.checkName(path)
}

func (b *Builder) checkName(path string) error {
	if path == "." || !fs.ValidPath(path) || strings.ContainsRune(path, 0) {
		// ValidPath wants UTF-8 too, without which a name could not be shown or referred to.
		return fault.New(fault.ErrContent, "the content holds the forbidden path %q", path)
	}
	return nil
}

// Build returns the tree; the Builder is not used afterwards.
func (b *Builder) Build() *Tree { return b.built(b.root.build()) }

func (b *Builder) built(root *node) *Tree {
	return &Tree{root: root, files: b.files + b.beyond, beyond: b.beyond, bytes: b.bytes, digests: map[string]string{}}
}

func (d *draft) build() *node {
	if d.node != nil {
		return d.node
	}
	n := &node{kind: kindDir, children: make([]child, 0, len(d.children))}
	for name, c := range d.children {
		n.children = append(n.children, child{name: name, node: c.build()})
	}
	slices.SortFunc(n.children, func(a, b child) int { return strings.Compare(a.name, b.name) })
	n.sumUp()
	return n
}

// sumUp sets what a directory knows of its children.
func (n *node) sumUp() {
	n.count, n.links, n.parts, n.lacks = 0, false, n.commit != "", n.missing != nil
	entries := make([]entry, 0, len(n.children))
	for _, c := range n.children {
		entries = append(entries, entry{kind: c.node.kind, name: c.name, sum: c.node.sum})
		n.links = n.links || c.node.links
		n.parts = n.parts || c.node.parts
		n.lacks = n.lacks || c.node.lacks
		n.count += 1 + c.node.count
	}
	n.sum = sumEntries(entries)
}

// isPointer recognises the file that Git LFS leaves in place of content, as its
// specification describes it: at most 1,024 bytes, the version line first, an oid.
func isPointer(content []byte) bool {
	return len(content) < 1024 &&
		bytes.HasPrefix(content, []byte("version https://git-lfs.github.com/spec/")) &&
		bytes.Contains(content, []byte("\noid sha256:"))
}
