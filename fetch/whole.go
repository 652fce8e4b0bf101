// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/git"
	"kumodo.io/convoy/fetch/internal/tree"
)

const (
	// maxSubmodules bounds the submodules of one commit, nested ones included.
	maxSubmodules = 100
	// maxNesting bounds how deep submodules lie in one another.
	maxNesting = 8
)

// whole returns the content of a commit with what the repository keeps elsewhere:
// submodules, and objects of Git LFS. What of it cannot be had is missing, and an error for
// who reads it; a missing submodule at the target's path is an error here.
func (c *Coordinator) whole(ctx context.Context, t *target, key string, base *tree.Tree, d demand) (*tree.Tree, error) {
	repository, ok := t.backend.(*git.Backend)
	if !ok {
		return base, nil
	}
	plan := repository.Plan(base, t.path)
	if plan == nil {
		return base, nil
	}
	content, err := c.content(ctx, t, key+"/whole/"+plan.Digest(), d, func(ctx context.Context, ops *operation) (*tree.Tree, error) {
		a := assembly{coordinator: c, demand: d}
		content, err := a.assemble(ctx, ops, part{target: t, repository: repository, base: base, plan: plan})
		ops.unusable = isContent(err)
		return content, err
	})
	if err != nil {
		return nil, err
	}
	return content, content.Unavailable(t.path)
}

// assembly puts the content of one commit together.
type assembly struct {
	coordinator *Coordinator
	demand      demand
	submodules  int
}

// part is a repository in an assembly: the one that is wanted, or a submodule.
type part struct {
	target     *target
	repository *git.Backend
	base       *tree.Tree
	plan       *git.Plan // nil when the base is all
	depth      int
	submodules []submodule
}

// submodule is a part, or why there is none.
type submodule struct {
	git.Submodule
	part
	err error
}

// assemble puts a part together. It gathers first what other flights bring: who waits for these
// must hold nothing of the budget.
func (a *assembly) assemble(ctx context.Context, ops *operation, p part) (*tree.Tree, error) {
	if err := a.gather(ctx, &p); err != nil {
		return nil, err
	}
	return a.fill(ctx, ops, p)
}

// gather brings the submodules of a part, and theirs, without what is at other servers yet. The
// error is that of ctx.
func (a *assembly) gather(ctx context.Context, p *part) error {
	if p.plan == nil || !p.plan.Submodules {
		return nil
	}
	for _, s := range p.repository.Submodules(p.base) {
		if s.Unwanted {
			continue
		}
		within, err := a.submodule(ctx, p.target, s, p.depth+1)
		if err == nil {
			err = a.gather(ctx, &within)
		}
		if ctx.Err() != nil {
			return fault.FromRequest(ctx.Err(), nil)
		}
		p.submodules = append(p.submodules, submodule{s, within, err})
	}
	return nil
}

// fill puts a part together whose submodules are gathered.
func (a *assembly) fill(ctx context.Context, ops *operation, p part) (*tree.Tree, error) {
	if p.plan == nil {
		return p.base, nil
	}
	fillings := a.objects(ctx, ops, p)
	for _, s := range p.submodules {
		content, err := (*tree.Tree)(nil), s.err
		if err == nil {
			content, err = a.fill(ctx, a.coordinator.operation(s.target, a.demand), s.part)
		}
		if err != nil {
			err = fault.Rewrite(err, nameOf(s.Submodule)+": "+err.Error())
		}
		fillings[s.Path] = tree.Filling{Tree: content, Err: err, Name: nameOf(s.Submodule)}
	}
	if ctx.Err() != nil {
		return nil, fault.FromRequest(ctx.Err(), nil)
	}
	return p.base.With(a.coordinator.options.Limits, fillings)
}

func nameOf(s git.Submodule) string {
	name := fmt.Sprintf("the submodule %q", s.Path)
	if s.URL != "" {
		name += " (" + s.URL + ")"
	}
	return name
}

// submodule brings a submodule, without its own ones.
func (a *assembly) submodule(ctx context.Context, within *target, s git.Submodule, depth int) (part, error) {
	if s.Err != nil {
		return part{}, s.Err
	}
	if a.submodules++; a.submodules > maxSubmodules {
		return part{}, fault.New(ErrLimit, "the content has more than %d submodules", maxSubmodules)
	}
	if depth > maxNesting {
		return part{}, fault.New(ErrLimit, "submodules lie in one another more than %d deep", maxNesting)
	}
	c := a.coordinator
	t := &target{kind: "GitRepository", tenant: within.tenant, counts: within.counts, name: s.Path, url: s.URL, timeout: within.timeout, path: ".", access: s.Access, backend: s.Backend, host: s.Backend.HostKey()}
	if err := t.identify(s.Backend.Identity()...); err != nil {
		return part{}, err
	}
	revision := "sha1:" + s.Commit
	base, err := c.content(ctx, t, t.identity+"/"+revision, a.demand, c.bring(t, revision))
	if err != nil {
		return part{}, err
	}
	return part{target: t, repository: s.Backend, base: base, plan: s.Backend.Plan(base, "."), depth: depth}, nil
}

// objects returns the contents that pointers of a repository stand for.
func (a *assembly) objects(ctx context.Context, ops *operation, p part) map[string]tree.Filling {
	fillings := map[string]tree.Filling{}
	for path, err := range p.plan.Refused {
		fillings[path] = tree.Filling{Err: err}
	}
	had := map[git.LFSObject]git.Download{}
	var wanted []git.LFSObject
	for _, o := range p.plan.Objects {
		if _, ok := had[o]; ok || slices.Contains(wanted, o) {
			continue
		}
		if content := a.known(ops, o); content != nil {
			had[o] = git.Download{Content: content}
			continue
		}
		wanted = append(wanted, o)
	}
	slices.SortFunc(wanted, func(x, y git.LFSObject) int { return cmp.Compare(x.OID, y.OID) })
	if len(wanted) > 0 {
		p.target.counts.fetches.Add(1)
		for o, d := range p.repository.Download(ctx, ops, p.base, wanted) {
			had[o] = d
			if d.Err == nil {
				ops.Remember(factOf(o), o.Size)
			}
		}
	}
	for path, o := range p.plan.Objects {
		d := had[o]
		fillings[path] = tree.Filling{File: d.Content, Sum: o.Sum(), Err: d.Err}
	}
	return fillings
}

// known returns an object that this source gave before, if its content is still kept. That
// another source's content has the digest is no reason to hand it out: a pointer is easily
// made up.
func (a *assembly) known(ops *operation, o git.LFSObject) []byte {
	if size, ok := ops.Recall(factOf(o)); !ok || size != o.Size {
		return nil
	}
	return a.coordinator.store.Content(o.Sum())
}

func factOf(o git.LFSObject) string { return "lfs/" + o.OID }
