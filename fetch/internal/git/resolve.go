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
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/versions"
)

const (
	branches = "refs/heads/"
	tags     = "refs/tags/"
	head     = "HEAD"
)

// Resolve returns the revision that is wanted now. A commit, and a pin that names one, is
// returned without asking.
func (b *Backend) Resolve(ctx context.Context, ops backend.Ops) (string, error) {
	ref := b.want.Ref
	if b.want.Pin != "" {
		pinned, err := parsePin(b.want.Pin)
		if err != nil || pinned.Hex != "" {
			return pinned.String(), err
		}
		ref = corev1alpha1.GitRef{Tag: pinned.Name}
	}
	if ref.Commit != "" {
		commit, err := parsePin(ref.Commit)
		if err == nil && commit.Hex == "" {
			err = fault.New(fault.ErrInvalid, "%q is not a commit id of 40 hex digits", ref.Commit)
		}
		return commit.String(), err
	}
	return b.choose(ctx, ops, ref)
}

// choose picks from what the repository has now.
func (b *Backend) choose(ctx context.Context, ops backend.Ops, ref corev1alpha1.GitRef) (string, error) {
	skipped := map[string]bool{}
	pick := func(refs references) (backend.Revision, error) { return b.pick(ops, refs, ref, skipped) }
	answer, err := ops.Ask(ctx, b.ask(func(refs references) bool {
		_, err := pick(refs)
		return !errors.Is(err, fault.ErrNotFound)
	}))
	if err != nil {
		return "", err
	}
	refs := answer.(references)
	for {
		revision, err := pick(refs)
		if err != nil {
			return "", err
		}
		if kind := b.leadsTo(ctx, ops, refs, ref, revision); kind != plumbing.CommitObject {
			if ref.Semver == "" {
				return "", notCommit(revision, kind)
			}
			skipped[revision.Name] = true
			continue
		}
		b.noticeMove(ctx, ops, ref, revision)
		return revision.String(), nil
	}
}

// leadsTo says what a revision leads to, which can be something else than a commit for a tag.
// Where a server does not tell, as one that can give the whole and not this, the fetch will.
func (b *Backend) leadsTo(ctx context.Context, ops backend.Ops, refs references, ref corev1alpha1.GitRef, r backend.Revision) plumbing.ObjectType {
	switch {
	case ref.Semver != "":
	case ref.Tag == "" && !strings.HasPrefix(ref.Name, tags):
		return plumbing.CommitObject
	case b.url.Scheme != "file" && !refs.Capabilities.Supports(capability.Filter):
		// To look would be to fetch all of it. What a fetch has found out is known, though.
		if kind, ok := ops.Recall(kindFact(r.Hex)); ok {
			return kind.(plumbing.ObjectType)
		}
		return plumbing.CommitObject
	}
	kind, err := b.kindOf(ctx, ops, refs, r)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("The server does not tell what a tag points to", "url", b.ShownURL(), "tag", r.Name, "reason", err.Error())
		return plumbing.CommitObject
	}
	if kind != plumbing.CommitObject && ref.Semver != "" {
		klog.FromContext(ctx).Info("Skipping a tag that does not point to a commit", "url", b.ShownURL(), "tag", r.Name, "kind", kind.String())
	}
	return kind
}

// noticeMove tells the operator of a tag that leads to another commit than before: it is a
// new revision like any other, but tags are not expected to move.
func (b *Backend) noticeMove(ctx context.Context, ops backend.Ops, ref corev1alpha1.GitRef, r backend.Revision) {
	if ref.Tag == "" && ref.Semver == "" {
		return
	}
	key := "tag/" + r.Name
	if before, ok := ops.Recall(key); ok && before != r.Hex {
		klog.FromContext(ctx).Info("A tag was moved to another commit", "url", b.ShownURL(), "tag", r.Name, "from", before, "to", r.Hex)
	}
	ops.Remember(key, r.Hex)
}

// parsePin reads what a Release can be pinned to: a revision, a commit id, or the name of a
// tag, which is returned without Hex.
func parsePin(pin string) (backend.Revision, error) {
	if backend.IsHex(pin, 40) {
		return backend.Revision{Algorithm: "sha1", Hex: strings.ToLower(pin)}, nil
	}
	if backend.IsHex(pin, 64) {
		pin = "sha256:" + pin
	}
	revision, err := backend.ParseRevision(pin)
	if err != nil {
		if strings.ContainsAny(pin, ":@") {
			return backend.Revision{}, err
		}
		return backend.Revision{Name: pin}, nil
	}
	if revision.Algorithm != "sha1" {
		return backend.Revision{}, errSHA256("the repository of " + strconv.Quote(pin))
	}
	return revision, nil
}

// pick chooses from the references that the repository has.
func (b *Backend) pick(ops backend.Ops, refs references, ref corev1alpha1.GitRef, skipped map[string]bool) (backend.Revision, error) {
	if len(refs.References) == 0 {
		return backend.Revision{}, fault.New(fault.ErrNotFound, "the repository is empty")
	}
	switch {
	case ref.Name != "":
		return refs.named(ref.Name, ref.Name, "reference")
	case ref.Tag != "":
		return refs.named(tags+ref.Tag, ref.Tag, "tag")
	case ref.Semver != "":
		return b.pickVersion(ops, refs, ref.Semver, skipped)
	case ref.Branch != "":
		return refs.named(branches+ref.Branch, ref.Branch, "branch")
	case refs.defaultBranch != "":
		return refs.named(branches+refs.defaultBranch, refs.defaultBranch, "branch")
	case refs.Head != nil:
		return revisionOf(head, *refs.Head), nil
	}
	return backend.Revision{}, fault.New(fault.ErrNotFound, "the repository has no default branch; name a branch or tag in ref")
}

func revisionOf(name string, id plumbing.Hash) backend.Revision {
	return backend.Revision{Name: name, Algorithm: "sha1", Hex: id.String()}
}

func (r references) named(full, shown, what string) (backend.Revision, error) {
	if id, ok := r.commit(full); ok {
		return revisionOf(shown, id), nil
	}
	if full == head && r.Head != nil {
		return revisionOf(shown, *r.Head), nil
	}
	return backend.Revision{}, fault.New(fault.ErrNotFound, "the repository has no %s %q", what, shown)
}

// commit returns what a reference leads to, through annotated tags.
func (r references) commit(full string) (plumbing.Hash, bool) {
	if id, ok := r.Peeled[full]; ok {
		return id, true
	}
	id, ok := r.References[full]
	return id, ok
}

// kindFact is the key of what an object is known to be. The list of references does not
// tell; a fetch does.
func kindFact(id string) string { return "kind/" + id }

// kindOf returns what a tag leads to. It is asked for once: objects do not change.
func (b *Backend) kindOf(ctx context.Context, ops backend.Ops, refs references, r backend.Revision) (plumbing.ObjectType, error) {
	id := plumbing.NewHash(r.Hex)
	for full, tip := range refs.References {
		if tip == id && strings.HasPrefix(full, branches) {
			return plumbing.CommitObject, nil
		}
	}
	if kind, ok := ops.Recall(kindFact(r.Hex)); ok {
		return kind.(plumbing.ObjectType), nil
	}
	kind, err := ops.Ask(ctx, backend.Question{Key: kindFact(r.Hex), Ask: func(ctx context.Context, _ any) (backend.Answer, error) {
		kind, err := b.lookAt(ctx, id)
		return backend.Answer{Value: kind, Size: 200}, err
	}})
	if err != nil {
		return plumbing.InvalidObject, err
	}
	return kind.(plumbing.ObjectType), nil
}

// lookAt fetches an object to see what it is, without what it holds where the server can
// leave that out.
func (b *Backend) lookAt(ctx context.Context, id plumbing.Hash) (plumbing.ObjectType, error) {
	o, ok, err := object{}, false, error(nil)
	if b.url.Scheme == "file" {
		var f *fileObjects
		if f, err = b.openFile(); err == nil {
			o, ok, err = f.object(id)
		}
	} else {
		var found packed
		found, _, err = b.exactly(ctx, backend.Revision{Hex: id.String()}, probe)
		o, ok = found.objects[id]
	}
	if err == nil && !ok {
		err = fault.New(fault.ErrContent, "the repository lacks the object %s", id)
	}
	return o.kind, err
}

func (b *Backend) pickVersion(ops backend.Ops, refs references, wanted string, skipped map[string]bool) (backend.Revision, error) {
	var candidates []versions.Candidate
	var unusable []string
	names := slices.Sorted(maps.Keys(refs.References))
	for i, full := range names {
		name, ok := strings.CutPrefix(full, tags)
		version := versions.ParseStrict(name)
		if !ok || version == nil {
			continue
		}
		id, _ := refs.commit(full)
		if kind, known := ops.Recall(kindFact(id.String())); skipped[name] || known && kind != plumbing.CommitObject {
			unusable = append(unusable, name)
			continue
		}
		candidates = append(candidates, versions.Candidate{Name: name, Version: version, Index: i})
	}
	best, err := versions.PickRange(wanted, "the repository", candidates)
	if err != nil && len(unusable) > 0 {
		err = fault.Rewrite(err, err.Error()+"; not pointing to a commit: "+strings.Join(unusable[:min(5, len(unusable))], ", "))
	}
	if err != nil {
		return backend.Revision{}, err
	}
	id, _ := refs.commit(names[best.Index])
	return revisionOf(best.Name, id), nil
}

// defaultBranch returns the branch that HEAD stands for, "" when that is none.
func defaultBranch(adv *packp.AdvRefs) string {
	for _, symbolic := range adv.Capabilities.Get(capability.SymRef) {
		name, target, _ := strings.Cut(symbolic, ":")
		branch, ok := strings.CutPrefix(target, branches)
		if name == head && ok {
			return branch
		}
	}
	if adv.Head == nil || adv.Capabilities.Supports(capability.SymRef) {
		return ""
	}
	// Servers before Git 1.8.5 do not say; the usual names come first.
	for _, full := range append([]string{branches + "main", branches + "master"}, slices.Sorted(maps.Keys(adv.References))...) {
		if branch, ok := strings.CutPrefix(full, branches); ok && adv.References[full] == *adv.Head {
			return branch
		}
	}
	return ""
}
