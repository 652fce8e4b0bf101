// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"

	"k8s.io/klog/v2"

	"kumodo.io/convoy/fetch/internal/tree"
)

// content returns the tree of a revision from the store, or fetches it into the store.
func (c *Coordinator) content(ctx context.Context, t *target, key, revision string, d demand) (*tree.Tree, error) {
	for {
		if content := c.store.Get(key); content != nil {
			c.counters.hits.Add(1)
			return content, nil
		}
		failure, failed := c.failures.recall(key)
		if failed && d.bears(failure, c.options.Clock.Now()) {
			c.counters.hits.Add(1)
			return nil, failure.err
		}
		ops := c.operation(t, d)
		// A revision does not change, so that an old answer finds it as well as a new one;
		// unless that has been tried and failed.
		ops.anyAge = !failed
		content, shared, err := c.fetches.do(ctx, key, func(ctx context.Context) (*tree.Tree, error) {
			return c.fetch(ctx, ops, key, revision)
		})
		if shared {
			c.counters.shared.Add(1)
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

// fetch brings the tree of a revision into the store, and remembers a failure.
func (c *Coordinator) fetch(ctx context.Context, ops *operation, key, revision string) (*tree.Tree, error) {
	// Between the last look and here another flight may have landed.
	if content := c.store.Get(key); content != nil {
		return content, nil
	}
	if failure, failed := c.failures.recall(key); failed && ops.demand.bears(failure, c.options.Clock.Now()) {
		return nil, failure.err
	}
	klog.FromContext(ctx).V(2).Info("Fetching content", "url", ops.target.url, "revision", revision)
	c.counters.fetches.Add(1)
	content, err := ops.target.backend.Fetch(ctx, ops, revision)
	if err == nil {
		c.failures.forget(key)
		c.store.Put(key, content)
		return content, nil
	}
	// Nobody waited for the end of a try that was cut off.
	if ctx.Err() == nil {
		until := c.options.Clock.Now().Add(failureAge)
		if ops.unusable {
			until = c.options.Clock.Now().Add(contentFailureAge)
		}
		c.failures.keep(key, answer{err: err, at: ops.checkedAt(), until: until, size: int64(len(err.Error())) + 200})
	}
	return nil, err
}
