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
	if b.pin != "" {
		pinned, err := parsePin(b.pin)
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
	pick := func(refs references) (backend.Revision, error) { return b.pick(ctx, ops, refs, ref) }
	answer, err := ops.Ask(ctx, b.ask(func(refs references) bool {
		_, err := pick(refs)
		return !errors.Is(err, fault.ErrNotFound)
	}))
	if err != nil {
		return "", err
	}
	revision, err := pick(answer.(references))
	if err != nil {
		return "", err
	}
	return revision.String(), nil
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
		return backend.Revision{}, fault.New(fault.ErrInvalid, "%q: repositories with SHA-256 commit ids are not supported", pin)
	}
	return revision, nil
}

// pick chooses from the references that the repository has.
func (b *Backend) pick(ctx context.Context, ops backend.Ops, refs references, ref corev1alpha1.GitRef) (backend.Revision, error) {
	if len(refs.References) == 0 {
		return backend.Revision{}, fault.New(fault.ErrNotFound, "the repository is empty")
	}
	switch {
	case ref.Name != "":
		return refs.named(ref.Name, ref.Name, "reference")
	case ref.Tag != "":
		return refs.named(tags+ref.Tag, ref.Tag, "tag")
	case ref.Semver != "":
		return b.pickVersion(ctx, ops, refs, ref.Semver)
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

// noCommit remembers that an object is no commit. The list of references does not tell;
// the first fetch does.
func noCommit(id string) string { return "no-commit/" + id }

func (b *Backend) pickVersion(ctx context.Context, ops backend.Ops, refs references, wanted string) (backend.Revision, error) {
	var candidates []versions.Candidate
	names := slices.Sorted(maps.Keys(refs.References))
	for i, full := range names {
		name, ok := strings.CutPrefix(full, tags)
		version := versions.ParseStrict(name)
		if !ok || version == nil {
			continue
		}
		id, _ := refs.commit(full)
		if _, known := ops.Recall(noCommit(id.String())); known {
			klog.FromContext(ctx).V(1).Info("Skipping a tag that does not point to a commit", "tag", name)
			continue
		}
		candidates = append(candidates, versions.Candidate{Name: name, Version: version, Index: i})
	}
	best, err := versions.PickRange(wanted, "the repository", candidates)
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
