// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// noCommitError says what stands where a commit was expected.
type noCommitError struct{ kind plumbing.ObjectType }

func (e *noCommitError) Error() string { return fmt.Sprintf("a %s is not a commit", e.kind) }

// The modes of a tree's entries.
const (
	modeDir        = "40000"
	modeLink       = "120000"
	modeSubmodule  = "160000"
	modeExecutable = "100755"
)

// readTree returns the tree of a commit.
func readTree(from objects, id plumbing.Hash, limits backend.Limits) (*tree.Tree, error) {
	root, err := rootOf(from, id)
	if err != nil {
		return nil, err
	}
	reader := treeReader{from: from, builder: tree.NewBuilder(limits), limits: limits}
	if err := reader.read("", root); err != nil {
		return nil, err
	}
	return reader.builder.Build(), nil
}

// rootOf returns the directory that a commit is about.
func rootOf(from objects, id plumbing.Hash) (root plumbing.Hash, err error) {
	commit, ok, err := from.object(id)
	switch {
	case err != nil:
		return root, err
	case !ok:
		return root, fault.New(fault.ErrNotFound, "the repository has no commit %s", id)
	case commit.kind != plumbing.CommitObject:
		return root, &noCommitError{commit.kind}
	}
	line, _, _ := bytes.Cut(commit.data, []byte("\n"))
	written, ok := strings.CutPrefix(string(line), "tree ")
	if !ok || !backend.IsHex(written, 40) {
		return root, fault.New(fault.ErrContent, "the commit %s is damaged", id)
	}
	return plumbing.NewHash(written), nil
}

type treeReader struct {
	from    objects
	builder *tree.Builder
	limits  backend.Limits
	// part is what of the commit is read, nil for all of it.
	part *part
}

func (r treeReader) get(path string, id plumbing.Hash, kind plumbing.ObjectType) (object, error) {
	o, ok, err := r.from.object(id)
	if err != nil {
		return object{}, err
	}
	if !ok && r.part != nil {
		o, ok = r.part.need(path, id, kind)
	}
	if !ok || o.kind != kind {
		return object{}, fault.New(fault.ErrContent, "the server sent a commit that lacks the %s %s, which is %q; the repository at the server may be damaged (git fsck tells)", kind, id, path)
	}
	return o, nil
}

// read adds the entries of a directory: each is a mode, a space, a name, a zero byte and
// the 20 bytes of an id. The builder refuses what a name may not be, and too deep a tree.
func (r treeReader) read(prefix string, id plumbing.Hash) error {
	o, err := r.get(prefix, id, plumbing.TreeObject)
	if err != nil {
		return err
	}
	data := o.data
	for len(data) > 0 {
		space := bytes.IndexByte(data, ' ')
		zero := bytes.IndexByte(data, 0)
		if space < 0 || zero < space || len(data) < zero+1+len(id) {
			return fault.New(fault.ErrContent, "the directory %q is damaged in the repository", prefix)
		}
		mode, name := strings.TrimLeft(string(data[:space]), "0"), string(data[space+1:zero])
		var entry plumbing.Hash
		copy(entry[:], data[zero+1:])
		data = data[zero+1+len(id):]
		if strings.Contains(name, "/") {
			return fault.New(fault.ErrContent, "the repository holds the forbidden name %q", name)
		}
		// Names are bytes in Git; one that is no text is still content that has a place.
		if err := r.entry(prefix+strings.ToValidUTF8(name, "\uFFFD"), mode, entry); err != nil {
			return err
		}
	}
	return nil
}

func (r treeReader) entry(path, mode string, id plumbing.Hash) error {
	if mode == modeSubmodule {
		return r.builder.Submodule(path, id.String())
	}
	if r.part != nil && !r.part.covers(path) {
		return r.builder.Beyond(path, fileMode(mode), id.String(), r.part.beyond)
	}
	if err := r.builder.CheckLength(path); err != nil {
		return r.builder.Omit(path, fileMode(mode), id.String(), err)
	}
	if mode == modeDir {
		if err := r.builder.Dir(path); err != nil {
			return err
		}
		return r.read(path+"/", id)
	}
	o, err := r.get(path, id, plumbing.BlobObject)
	if err != nil {
		return err
	}
	switch {
	case o.left != 0:
		return r.builder.Omit(path, fileMode(mode), id.String(), r.tooLarge(path, o.left))
	case mode == modeLink:
		if err := r.builder.CheckTarget(path, string(o.data)); err != nil {
			return r.builder.Omit(path, fileMode(mode), id.String(), err)
		}
		return r.builder.Link(path, string(o.data))
	}
	return r.builder.File(path, o.data, mode == modeExecutable)
}

func fileMode(mode string) fs.FileMode {
	switch mode {
	case modeDir:
		return fs.ModeDir
	case modeLink:
		return fs.ModeSymlink
	case modeExecutable:
		return 0o755
	}
	return 0o644
}

// tooLarge says why a file is left out; left is its size, -1 when that is not known.
func (r treeReader) tooLarge(path string, left int64) error {
	if left < 0 {
		return fault.New(fault.ErrLimit, "%q has, or is sent as a difference to a file that has, more than the %s that a file may have. %s", path, fault.Size(r.limits.FileBytes), tree.WayOut(backend.FlagFileBytes))
	}
	return fault.New(fault.ErrLimit, "%q has %s; a file may have %s. %s", path, fault.Size(left), fault.Size(r.limits.FileBytes), tree.WayOut(backend.FlagFileBytes))
}
