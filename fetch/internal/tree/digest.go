// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"errors"
	"io/fs"
	"slices"

	"kumodo.io/convoy/fetch/internal/fault"
)

// maxUnfolded bounds what a directory shows when all links below it are followed: links to
// directories can make a small tree endless to walk.
const (
	maxUnfolded = 500_000
	maxNested   = 200
)

// DigestAt returns the digest of what a reader of the directory at path sees: links count
// as what they lead to, inside or outside the directory, so that the digest changes when
// something changes that can be read through it. A directory without links has the digest
// of its stored form.
//
// The errors are fault.ErrNotFound, fault.ErrInvalid when path is not a directory or not a
// path, fault.ErrContent when it leads through a link that cannot be followed, and
// fault.ErrLimit when its links unfold to too much.
func (t *Tree) DigestAt(path string) (string, error) {
	if !fs.ValidPath(path) {
		return "", fault.New(fault.ErrInvalid, "the path %q is not a relative path inside the content", path)
	}
	at, passed, err := t.lookup(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fault.New(fault.ErrNotFound, "the path %q does not exist in the content", path)
	case err != nil:
		return "", fault.New(fault.ErrContent, "the path %q cannot be used: %s", path, err)
	case at.node.kind != kindDir:
		return "", fault.New(fault.ErrInvalid, "the path %q is a file; a directory is needed", path)
	case !at.node.links:
		return format(at.node.sum), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if digest, ok := t.digests[path]; ok {
		return digest, nil
	}
	u := unfolder{budget: maxUnfolded}
	s, err := u.sum(at, passed)
	if err != nil {
		return "", err
	}
	t.digests[path] = format(s)
	return t.digests[path], nil
}

// unfolder digests a directory as its readers see it.
type unfolder struct{ budget int }

func (u *unfolder) sum(at *place, passed []*node) (sum, error) {
	size := len(at.node.children)
	if !at.node.links {
		size = at.node.count
	}
	if u.budget -= size; u.budget < 0 || len(passed) > maxNested {
		return sum{}, tooFolded(at)
	}
	if !at.node.links {
		return at.node.sum, nil
	}
	entries := make([]entry, 0, len(at.node.children))
	for _, c := range at.node.children {
		e, err := u.entry(&place{up: at, name: c.name, node: c.node}, passed)
		if err != nil {
			return sum{}, err
		}
		entries = append(entries, e)
	}
	return sumEntries(entries), nil
}

func (u *unfolder) entry(p *place, passed []*node) (entry, error) {
	shown := seen(p, passed)
	e := entry{kind: shown.kind, name: p.name, sum: shown.sum}
	if shown.kind != kindDir {
		return e, nil
	}
	hops := 0
	to, err := p.follow(&hops)
	if err != nil {
		return e, nil
	}
	e.sum, err = u.sum(to, append(slices.Clip(passed), to.node))
	return e, err
}

func tooFolded(at *place) error {
	return fault.New(fault.ErrLimit, "the links to directories at %q unfold to too many files or too deep a tree", at.path())
}
