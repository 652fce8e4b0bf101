// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/git"
	"kumodo.io/convoy/fetch/internal/tree"
)

// bringer gets content that is not in the store.
type bringer func(ctx context.Context, ops *operation) (*tree.Tree, error)

// bring gets the content of a revision from its source.
func (c *Coordinator) bring(t *target, revision string) bringer {
	return func(ctx context.Context, ops *operation) (*tree.Tree, error) {
		klog.FromContext(ctx).V(2).Info("Fetching content", "url", t.url, "revision", revision)
		t.counts.fetches.Add(1)
		return t.backend.Fetch(ctx, ops, revision)
	}
}

// based is the content of a revision as its source holds it.
type based struct {
	key  string
	tree *tree.Tree
	// reason says why the tree is a part only, nil when it is all.
	reason error
}

// base returns the content of a revision as its source holds it. Of a Git commit that is too
// large to be taken in whole, it is that at the target's path.
func (c *Coordinator) base(ctx context.Context, t *target, key, revision string, d demand) (b based, err error) {
	b.key = key
	repository, ok := t.backend.(*git.Backend)
	if !ok {
		b.tree, err = c.content(ctx, t, key, d, c.bring(t, revision))
		return b, err
	}
	b.reason = c.tooLarge(t, key, d)
	if b.reason == nil {
		b.tree, err = c.content(ctx, t, key, d, c.bring(t, revision))
		if t.path != "." && errors.Is(err, ErrLimit) && ctx.Err() == nil {
			b.reason = err
		}
	}
	if b.reason != nil {
		b.key = partKey(key, t.path)
		b.tree, err = c.part(ctx, t, repository, key, revision, t.path, d, b.reason)
	}
	if err == nil {
		err = b.tree.Omitted(t.path)
	}
	return b, err
}

// largeAge is how long commits of a repository are taken to be too large after one was.
const largeAge = time.Hour

// large says that a commit was too large to be fetched whole, and that parts were to be had.
type large struct {
	key    string
	at     time.Time
	reason error
}

// tooLarge gives the reason why a commit is not even tried to be fetched whole, which takes
// much when it is too large: it was found to be, or another one of the repository lately.
func (c *Coordinator) tooLarge(t *target, key string, d demand) error {
	fact, ok := c.operation(t, d).Recall("large")
	if !ok || t.path == "." {
		return nil
	}
	known := fact.(large)
	if known.key != key && c.options.Clock.Now().Sub(known.at) > largeAge {
		return nil
	}
	return known.reason
}

func partKey(key, path string) string { return key + "/part/" + path }

// part returns the content of a commit at a path.
func (c *Coordinator) part(ctx context.Context, t *target, repository *git.Backend, key, revision, path string, d demand, reason error) (*tree.Tree, error) {
	return c.content(ctx, t, partKey(key, path), d, func(ctx context.Context, ops *operation) (*tree.Tree, error) {
		klog.FromContext(ctx).V(1).Info("The commit is too large to be fetched whole; fetching a part", "url", t.url, "revision", revision, "path", path, "reason", reason.Error())
		t.counts.fetches.Add(1)
		content, err := repository.FetchPart(ctx, ops, revision, path, reason)
		if err == nil && c.tooLarge(t, key, d) == nil {
			ops.Remember("large", large{key: key, at: c.options.Clock.Now(), reason: reason})
		}
		return content, err
	})
}

// more gives further parts of a commit to who reads beyond the target's path, as kustomizations
// do that have their bases elsewhere. Who does not wait any more leaves the fetch to its own time
// limit: it can take longer than any one who reads may wait, and the next one finds what it got.
func (c *Coordinator) more(t *target, key, revision string, want Want, reason error) tree.More {
	repository, _ := t.backend.(*git.Backend)
	return func(ctx context.Context, path string) (content *tree.Tree, err error) {
		if ctx.Err() != nil {
			return nil, t.describe(fault.FromRequest(ctx.Err(), nil))
		}
		type result struct {
			content *tree.Tree
			err     error
		}
		done := make(chan result, 1)
		go func() {
			content, err := c.part(context.WithoutCancel(ctx), t, repository, key, revision, path, c.demand(want.MaxAge, want.Since), reason)
			done <- result{content, err}
		}()
		select {
		case got := <-done:
			content, err = got.content, got.err
		case <-ctx.Done():
			err = fault.FromRequest(ctx.Err(), nil)
		}
		if err != nil {
			return nil, t.describe(err)
		}
		return content, nil
	}
}

// content returns a tree from the store, or brings it into the store.
func (c *Coordinator) content(ctx context.Context, t *target, key string, d demand, bring bringer) (*tree.Tree, error) {
	for {
		if content := c.kept(key, t.path, d); content != nil {
			c.hits.Add(1)
			return content, nil
		}
		failure, failed := c.failures.recall(key)
		if failed && d.bears(failure, c.options.Clock.Now()) {
			c.hits.Add(1)
			return nil, failure.err
		}
		if failure, ok := c.heldOff(t, d); ok {
			c.hits.Add(1)
			return nil, failure.err
		}
		ops := c.operation(t, d)
		// A revision does not change, so that an old answer finds it as well as a new one;
		// unless that has been tried and failed.
		ops.anyAge = !failed
		content, shared, err := c.fetches.do(ctx, key, func(ctx context.Context) (*tree.Tree, error) {
			return c.fetch(ctx, ops, key, bring)
		})
		if shared {
			c.shared.Add(1)
		}
		if err == nil || ctx.Err() != nil || !shared && !ops.anyAge {
			return content, err
		}
		// The failure may be older than this call wants: another's work has been waited for
		// that was answered from memory, or an old answer led to nothing.
		d.waited = true
		if failure, known := c.failures.recall(key); !known || d.bears(failure, c.options.Clock.Now()) {
			return nil, err
		}
	}
}

// gap is the key of the failure because of which a kept tree is incomplete.
func gap(key string) string { return key + "/incomplete" }

// kept returns a tree of the store, unless something is missing in it that should be tried
// again. Who sees a gap at path has that tried again as other failures are; who does not is
// not made to wait for it that often.
func (c *Coordinator) kept(key, path string, d demand) *tree.Tree {
	content := c.store.Get(key)
	if content == nil || content.Incomplete() == nil {
		return content
	}
	failure, ok := c.failures.recall(gap(key))
	now := c.options.Clock.Now()
	switch {
	case !ok:
		return nil
	case d.bears(failure, now):
		return content
	case d.maxAge >= insistAge && !failure.asked.Before(d.since) && now.Before(failure.at.Add(contentFailureAge)) && !content.Lacks(path):
		return content
	}
	return nil
}

// fetch brings a tree into the store, and remembers a failure.
func (c *Coordinator) fetch(ctx context.Context, ops *operation, key string, bring bringer) (*tree.Tree, error) {
	// Between the last look and here another flight may have landed.
	if content := c.kept(key, ops.target.path, ops.demand); content != nil {
		return content, nil
	}
	if failure, failed := c.failures.recall(key); failed && ops.demand.bears(failure, c.options.Clock.Now()) {
		return nil, failure.err
	}
	var content *tree.Tree
	err := ops.holding(ctx, func(ctx context.Context) (err error) {
		if content, err = bring(ctx, ops); err != nil {
			return err
		}
		c.failures.forget(key)
		if missing := content.Incomplete(); missing != nil {
			c.fail(gap(key), ops, missing, isContent(missing))
		}
		c.store.Put(key, content)
		return nil
	})
	if err == nil {
		return content, nil
	}
	// Nobody waited for the end of a try that was cut off.
	if ctx.Err() == nil {
		c.fail(key, ops, err, ops.unusable)
	}
	return nil, err
}

// fail remembers a failure, for longer when trying again will not help.
func (c *Coordinator) fail(key string, ops *operation, err error, unusable bool) {
	until := c.options.Clock.Now().Add(failureAge)
	if unusable {
		until = c.options.Clock.Now().Add(contentFailureAge)
	}
	c.failures.keep(key, answer{err: err, at: ops.checkedAt(), asked: ops.demand.made, until: until, size: int64(len(err.Error())) + 200})
}
