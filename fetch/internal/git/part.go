// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"k8s.io/klog/v2"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// maxSteps bounds how often a server is asked for more of one commit: each step follows links
// one directory further.
const maxSteps = 100

// FetchPart returns the tree of a revision's commit with what is at path only, and what links
// there lead to. It is for commits that are too large to be fetched whole, which is the reason
// that whoever reads anything else of it gets.
func (b *Backend) FetchPart(ctx context.Context, ops backend.Ops, revision, path string, reason error) (*tree.Tree, error) {
	r, err := b.parse(revision)
	if err != nil {
		return nil, err
	}
	if b.url.Scheme == "file" {
		return b.fetchPart(ctx, ops, r, newPart(path, reason), false)
	}
	answer, err := ops.Ask(ctx, b.ask(nil))
	if err != nil {
		return nil, err
	}
	if parts(answer.(references).Capabilities) {
		t, err := b.fetchPart(ctx, ops, r, newPart(path, reason), true)
		if !errors.Is(err, fault.ErrNotFound) {
			return t, err
		}
		klog.FromContext(ctx).V(1).Info("The server does not give a part of a commit; fetching all of it for one", "url", b.ShownURL(), "commit", r.Hex, "path", path, "reason", err.Error())
	}
	p := newPart(path, reason)
	t, err := b.fetchPart(ctx, ops, r, p, false)
	if errors.Is(err, fault.ErrLimit) && p.local == nil {
		err = fault.Rewrite(err, err.Error()+"; or let the server give the Release's path alone, in Git's configuration with uploadpack.allowFilter and uploadpack.allowReachableSHA1InWant")
	}
	return t, err
}

// fetchPart fetches a part alone, or out of all of the commit.
func (b *Backend) fetchPart(ctx context.Context, ops backend.Ops, r backend.Revision, p *part, alone bool) (t *tree.Tree, err error) {
	err = ops.Do(ctx, func(ctx context.Context) error {
		tag, err := b.begin(ctx, p, r, alone)
		if err != nil {
			return err
		}
		if err := b.verify(ctx, p, r, tag); err != nil {
			return err
		}
		t, err = b.readPart(ctx, p, plumbing.NewHash(r.Hex))
		return noCommit(ops, r, err)
	})
	return t, err
}

// part is what of a commit is read: some places with all they hold, and what leads there. It
// holds the objects for that.
type part struct {
	path string
	// all are places that are read with what they hold, through those that are on the way.
	all, through map[string]bool
	// beyond is what is said of all the others.
	beyond error
	// local are all objects, of a repository on disk or of a server that gives no parts; nil
	// where they have to be asked for.
	local objects
	have  map[plumbing.Hash]object
	// asked are the objects that a server was asked for by their ids, got the places of which
	// it gave all.
	asked map[plumbing.Hash]bool
	got   map[string]bool
	// single and whole are objects to ask for next, without and with what they hold.
	single, whole map[plumbing.Hash]string
}

func newPart(path string, reason error) *part {
	p := &part{path: path, all: map[string]bool{path: true, modulesFile: true, lfsConfigFile: true}, through: map[string]bool{},
		have: map[plumbing.Hash]object{}, asked: map[plumbing.Hash]bool{}, got: map[string]bool{},
		single: map[plumbing.Hash]string{}, whole: map[plumbing.Hash]string{},
		beyond: fault.New(fault.ErrLimit, "it lies outside of the Release's path %q, and the commit is too large to be fetched whole: %s", path, reason)}
	for above := range above(path) {
		p.through[above] = true
	}
	return p
}

// above gives the directories that a path leads through.
func above(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i, c := range path {
			if c == '/' && !yield(path[:i]) {
				return
			}
		}
	}
}

// covers says whether a place is read.
func (p *part) covers(path string) bool {
	if p.through[path] || p.all[path] {
		return true
	}
	for above := range above(path) {
		if p.all[above] {
			return true
		}
	}
	return false
}

// grow takes a place in, and says whether that is anything new.
func (p *part) grow(path string, all bool) bool {
	places := p.through
	if all {
		places = p.all
	}
	if places[path] {
		return false
	}
	places[path] = true
	return true
}

func (p *part) object(id plumbing.Hash) (object, bool, error) {
	if p.local != nil {
		return p.local.object(id)
	}
	o, ok := p.have[id]
	return o, ok, nil
}

// need stands in for an object of a place until the server has been asked for it. ok is false
// when it has been.
func (p *part) need(path string, id plumbing.Hash, kind plumbing.ObjectType) (stand object, ok bool) {
	if p.local != nil || p.asked[id] {
		return object{}, false
	}
	for above := range above(path) {
		if p.got[above] && kind == plumbing.BlobObject {
			// The server was told to leave out what is too large.
			return object{kind: kind, left: -1}, true
		}
		if p.got[above] {
			return object{}, false
		}
	}
	if kind == plumbing.TreeObject && p.all[path] {
		p.whole[id] = path
	} else {
		p.single[id] = path
	}
	return object{kind: kind}, true
}

// begin brings the commit, and the tag that leads to it in mode tag: alone, or with all it
// holds.
func (b *Backend) begin(ctx context.Context, p *part, r backend.Revision, alone bool) (tag plumbing.Hash, err error) {
	if !alone {
		found, tag, err := b.objects(ctx, r)
		if err == nil {
			p.local = found
		}
		return tag, err
	}
	found, tag, err := b.exactly(ctx, r, only)
	if err != nil {
		return tag, withoutRefusal(err)
	}
	maps.Copy(p.have, found.objects)
	return tag, nil
}

// readPart reads what the part covers, and asks for more until nothing is missing that a
// reader of the path comes by.
func (b *Backend) readPart(ctx context.Context, p *part, commit plumbing.Hash) (*tree.Tree, error) {
	root, err := rootOf(p, commit)
	if err != nil {
		return nil, err
	}
	for range maxSteps {
		reader := treeReader{from: p, builder: tree.NewBuilder(b.options.Limits), limits: b.options.Limits, part: p}
		if err := reader.read("", root); err != nil {
			return nil, err
		}
		if len(p.single)+len(p.whole) > 0 {
			if err := b.bring(ctx, p); err != nil {
				return nil, err
			}
			continue
		}
		t := reader.builder.Build()
		grown := false
		for path, all := range t.LeadsBeyond(p.path) {
			grown = p.grow(path, all) || grown
		}
		if !grown {
			return t, nil
		}
	}
	return nil, fault.New(fault.ErrLimit, "the links at %q lead to more than can be followed in a commit that is too large to be fetched whole", p.path)
}

// bring asks for the objects that a part needs next.
func (b *Backend) bring(ctx context.Context, p *part) error {
	for _, step := range []struct {
		needed map[plumbing.Hash]string
		extent extent
	}{{p.single, alone}, {p.whole, below}} {
		if len(step.needed) == 0 {
			continue
		}
		ids := slices.SortedFunc(maps.Keys(step.needed), func(a, b plumbing.Hash) int { return strings.Compare(a.String(), b.String()) })
		found, err := b.gather(ctx, step.extent, func(*packp.AdvRefs) ([]plumbing.Hash, error) { return ids, nil })
		if err != nil {
			return withoutRefusal(err)
		}
		maps.Copy(p.have, found.objects)
		for id, path := range step.needed {
			p.asked[id] = true
			if _, ok := p.have[id]; !ok && found.lost {
				p.have[id] = object{kind: plumbing.BlobObject, left: -1}
			}
			if step.extent == below {
				p.got[path] = true
			}
		}
		clear(step.needed)
	}
	return nil
}
