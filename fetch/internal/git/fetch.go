// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"k8s.io/klog/v2"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/budget"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// Key identifies the content of a revision: the commit, however it was found, unless it is
// the tag that vouches for it.
func (b *Backend) Key(revision string) (string, error) {
	r, err := b.parse(revision)
	if b.policy.byTag() {
		return r.Digest() + "/" + tags + tagName(r), err
	}
	return r.Digest(), err
}

func (b *Backend) parse(revision string) (backend.Revision, error) {
	r, err := backend.ParseRevision(revision)
	if err == nil && r.Algorithm != "sha1" {
		err = errSHA256("the repository of " + strconv.Quote(revision))
	}
	return r, err
}

// Fetch returns the tree of a revision's commit.
func (b *Backend) Fetch(ctx context.Context, ops backend.Ops, revision string) (*tree.Tree, error) {
	r, err := b.parse(revision)
	if err != nil {
		return nil, err
	}
	var t *tree.Tree
	err = ops.Do(ctx, func(ctx context.Context) error {
		found, tag, err := b.objects(ctx, r)
		if err != nil {
			return err
		}
		if err := b.verify(ctx, found, r, tag); err != nil {
			return err
		}
		t, err = readTree(found, plumbing.NewHash(r.Hex), b.options.Limits)
		return noCommit(ops, r, err)
	})
	return t, err
}

// noCommit says of a revision that is none what it is, and remembers it.
func noCommit(ops backend.Ops, r backend.Revision, err error) error {
	var other *noCommitError
	if !errors.As(err, &other) {
		return err
	}
	ops.Remember(kindFact(r.Hex), other.kind)
	return notCommit(r, other.kind)
}

func notCommit(r backend.Revision, kind plumbing.ObjectType) error {
	return fault.New(fault.ErrContent, "%s does not point to a commit but to a %s", shown(r), kind)
}

func shown(r backend.Revision) string {
	if r.Name == "" {
		return r.Hex
	}
	return r.Name + " (" + r.Hex + ")"
}

// objects brings a commit with all it holds, and in mode tag the tag that leads to it.
func (b *Backend) objects(ctx context.Context, r backend.Revision) (found objects, tag plumbing.Hash, err error) {
	if b.url.Scheme == "file" {
		return b.fileObjects(r)
	}
	exact, tag, err := b.exactly(ctx, r, shallow)
	if err == nil || !errors.Is(err, errRefused) || ctx.Err() != nil {
		return exact, tag, err
	}
	klog.FromContext(ctx).V(1).Info("The server does not hand out a commit by its id; fetching history", "commit", r.Hex, "reason", err.Error())
	all, err := b.deeper(ctx, plumbing.NewHash(r.Hex), r.Name)
	return all, tag, err
}

// exactly asks for one commit without its history. errRefused is among the errors when
// the server has such a commit perhaps, but does not give it this way.
func (b *Backend) exactly(ctx context.Context, r backend.Revision, e extent) (found packed, tag plumbing.Hash, err error) {
	listed := true
	found, err = b.gather(ctx, e, func(refs *packp.AdvRefs) ([]plumbing.Hash, error) {
		if len(refs.References) == 0 {
			return nil, fault.New(fault.ErrNotFound, "the repository is empty")
		}
		if e != probe && b.policy.byTag() {
			tag, err = b.policy.signedTag(refs, r)
			return []plumbing.Hash{tag}, err
		}
		var want plumbing.Hash
		want, listed = asListed(refs, plumbing.NewHash(r.Hex))
		return []plumbing.Hash{want}, nil
	})
	// A server says no in many ways; with a commit that it does not list, every failure
	// that is not ours or the network's may be one.
	if !listed && (errors.Is(err, fault.ErrUnreachable) || errors.Is(err, fault.ErrNotFound)) {
		return found, tag, errors.Join(errRefused, err)
	}
	return found, tag, withoutRefusal(err)
}

// asListed returns the id under which the server lists a commit, if it does: any server
// gives what it lists. An annotated tag is listed by its own id.
func asListed(refs *packp.AdvRefs, id plumbing.Hash) (want plumbing.Hash, listed bool) {
	if isListed(refs, id) {
		return id, true
	}
	for full, peeled := range refs.Peeled {
		if peeled == id {
			return refs.References[full], true
		}
	}
	return id, false
}

func isListed(refs *packp.AdvRefs, id plumbing.Hash) bool {
	for _, other := range refs.References {
		if other == id {
			return true
		}
	}
	return refs.Head != nil && *refs.Head == id
}

// withoutRefusal returns the error with a kind out of those that pack joins.
func withoutRefusal(err error) error {
	var own *fault.Error
	if errors.As(err, &own) {
		return own
	}
	return err
}

// deeper looks for a commit in the history of the branch or tag that the revision names,
// then in that of all branches and tags.
func (b *Backend) deeper(ctx context.Context, id plumbing.Hash, name string) (packed, error) {
	for _, full := range [][]string{{branches + name, tags + name}, nil} {
		all := false
		giveBack := budget.Mark(ctx)
		found, err := b.gather(ctx, deep, func(refs *packp.AdvRefs) (tips []plumbing.Hash, err error) {
			tips, all = tipsOf(refs, full)
			return tips, nil
		})
		if err != nil {
			return packed{}, withoutRefusal(err)
		}
		if _, ok := found.objects[id]; ok {
			return found, nil
		}
		if giveBack(); all {
			break
		}
	}
	return packed{}, fault.New(fault.ErrNotFound, "the repository has no commit %s, or none that a branch or tag leads to", id)
}

// tipsOf returns what the first of some references leads to that there is, or all branches and
// tags when there is none, or nothing else.
func tipsOf(refs *packp.AdvRefs, wanted []string) (tips []plumbing.Hash, all bool) {
	for _, full := range slices.Sorted(maps.Keys(refs.References)) {
		if strings.HasPrefix(full, branches) || strings.HasPrefix(full, tags) {
			tips = append(tips, refs.References[full])
		}
	}
	for _, full := range wanted {
		if tip, ok := refs.References[full]; ok {
			return []plumbing.Hash{tip}, len(tips) == 1
		}
	}
	return tips, true
}

// gather asks for objects by their ids, which are chosen from what the server has. errRefused may
// be among the errors.
func (b *Backend) gather(ctx context.Context, e extent, choose func(refs *packp.AdvRefs) ([]plumbing.Hash, error)) (packed, error) {
	r, err := b.open(ctx)
	if err != nil {
		return packed{}, err
	}
	defer r.close()
	giveBack := budget.Mark(ctx)
	refs, err := b.advertised(ctx, r)
	if err != nil {
		return packed{}, err
	}
	wants, err := choose(refs)
	if err != nil {
		return packed{}, err
	}
	stream, err := b.pack(ctx, r, refs, wants, e)
	// Nobody holds the list any more.
	giveBack()
	if err != nil {
		return packed{}, err
	}
	return b.readPack(ctx, stream)
}
