// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"fmt"
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
	commit, ok, err := from.object(id)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fault.New(fault.ErrNotFound, "the repository has no commit %s", id)
	case commit.kind != plumbing.CommitObject:
		return nil, &noCommitError{commit.kind}
	}
	line, _, _ := bytes.Cut(commit.data, []byte("\n"))
	root, ok := strings.CutPrefix(string(line), "tree ")
	if !ok || !backend.IsHex(root, 40) {
		return nil, fault.New(fault.ErrContent, "the commit %s is damaged", id)
	}
	reader := treeReader{from: from, builder: tree.NewBuilder(limits)}
	if err := reader.read("", plumbing.NewHash(root)); err != nil {
		return nil, err
	}
	return reader.builder.Build(), nil
}

type treeReader struct {
	from    objects
	builder *tree.Builder
}

func (r treeReader) get(path string, id plumbing.Hash, kind plumbing.ObjectType) ([]byte, error) {
	o, ok, err := r.from.object(id)
	if err != nil {
		return nil, err
	}
	if !ok || o.kind != kind {
		return nil, fault.New(fault.ErrContent, "the repository lacks the %s %s of %q", kind, id, path)
	}
	return o.data, nil
}

// read adds the entries of a directory: each is a mode, a space, a name, a zero byte and
// the 20 bytes of an id. The builder refuses what a name may not be, and too deep a tree.
func (r treeReader) read(prefix string, id plumbing.Hash) error {
	data, err := r.get(prefix, id, plumbing.TreeObject)
	if err != nil {
		return err
	}
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
	switch mode {
	case modeDir:
		if err := r.builder.Dir(path); err != nil {
			return err
		}
		return r.read(path+"/", id)
	case modeSubmodule:
		return r.builder.Submodule(path, id.String())
	}
	data, err := r.get(path, id, plumbing.BlobObject)
	if err != nil {
		return err
	}
	if mode == modeLink {
		return r.builder.Link(path, string(data))
	}
	return r.builder.File(path, data, mode == modeExecutable)
}
