// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"

	"k8s.io/klog/v2"

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
	content, err := bring(ctx, ops)
	if err == nil {
		c.failures.forget(key)
		if missing := content.Incomplete(); missing != nil {
			c.fail(gap(key), ops, missing, isContent(missing))
		}
		c.store.Put(key, content)
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
