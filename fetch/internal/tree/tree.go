// SPDX-License-Identifier: Apache-2.0

// Package tree holds the content of an artifact in memory: an immutable tree of files,
// directories and symbolic links, addressed by content, readable as an fs.FS.
//
// Symbolic links are kept as links and followed on reading, as far as they stay inside the
// tree. A link that leaves the tree, dangles or runs in a circle costs nothing until it is
// read; then it is an error that names it. Nothing here touches a disk.
package tree

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync"
)

type kind byte

const (
	kindFile       kind = 'f'
	kindExecutable kind = 'x'
	kindDir        kind = 'd'
	kindLink       kind = 'l'
)

// sum is a SHA-256 digest.
type sum = [sha256.Size]byte

// node is one place of the tree. Two places never share a node, so that the identity of a
// node is the identity of a place.
type node struct {
	kind kind
	// data is the content of a file, or the target of a link.
	data []byte
	// children of a directory, sorted by name.
	children []child
	sum      sum
	// links says that there is a link at or below this place.
	links bool
	// count is the number of places below this one.
	count int
	// pointer says that the file is a Git LFS pointer, not the content it stands for.
	pointer bool
	// commit is set for a submodule whose content is not here.
	commit string
	// missing is why the content of a pointer or submodule is not here, nil when nobody
	// has looked for it.
	missing error
	// absent says that the content was left at the source, nil when it is here.
	absent *absentError
	// parts says that there is a pointer or submodule at or below this place, lacks that
	// one is missing.
	parts, lacks bool
}

type child struct {
	name string
	node *node
}

// Tree is an immutable tree. It is safe for concurrent use.
type Tree struct {
	root  *node
	files int
	// beyond counts those of files that are at the source still.
	beyond int
	bytes  int64

	mu sync.Mutex
	// digests remembers those of directories with links below, which take a walk.
	digests map[string]string
}

// Digest returns the digest of the whole tree as it is stored, sha256:<hex digits>.
func (t *Tree) Digest() string { return format(t.root.sum) }

// Files returns the number of files, directories and links.
func (t *Tree) Files() int { return t.files }

// Bytes returns the bytes of all files together.
func (t *Tree) Bytes() int64 { return t.bytes }

// nodeBytes is about what a node costs besides its content.
const nodeBytes = 160

// Overhead returns about the memory that the tree takes besides the content of its files.
func (t *Tree) Overhead() int64 { return int64(t.files+1) * nodeBytes }

// size is about all the memory that the tree takes.
func (t *Tree) size() int64 { return t.bytes + t.Overhead() }

// Contents calls visit with the digest and content of every file.
func (t *Tree) Contents(visit func(sum [sha256.Size]byte, content []byte)) {
	t.root.files(func(n *node) { visit(n.sum, n.data) })
}

// Share lets every file hold what shared returns for its digest and content, which must be
// equal, so that trees with equal files hold them once. It is done before anyone reads.
func (t *Tree) Share(shared func(sum [sha256.Size]byte, content []byte) []byte) {
	t.root.files(func(n *node) { n.data = shared(n.sum, n.data) })
}

func (n *node) files(visit func(*node)) {
	if (n.kind == kindFile || n.kind == kindExecutable) && n.absent == nil {
		visit(n)
	}
	for _, c := range n.children {
		c.node.files(visit)
	}
}

func (n *node) child(name string) *node {
	low, high := 0, len(n.children)
	for low < high {
		middle := (low + high) / 2
		if n.children[middle].name < name {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(n.children) && n.children[low].name == name {
		return n.children[low].node
	}
	return nil
}

// entry is what a directory's digest says of one of its children.
type entry struct {
	kind kind
	name string
	sum  sum
}

// sumEntries digests a directory. Kind, length of the name, name and digest of each child
// leave no two directories with the same input.
func sumEntries(entries []entry) sum {
	h := sha256.New()
	h.Write([]byte("convoy tree 1\n"))
	var length [4]byte
	for _, e := range entries {
		binary.BigEndian.PutUint32(length[:], uint32(len(e.name)))
		h.Write([]byte{byte(e.kind)})
		h.Write(length[:])
		h.Write([]byte(e.name))
		h.Write(e.sum[:])
	}
	return sum(h.Sum(nil))
}

func format(s sum) string { return "sha256:" + hex.EncodeToString(s[:]) }
