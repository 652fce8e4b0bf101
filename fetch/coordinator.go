// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/store"
	"kumodo.io/convoy/fetch/internal/tree"
)

const (
	defaultCacheBytes = 256 << 20
	// answersShare is the part of CacheBytes that answers about references, indexes and
	// tags may take besides.
	answersShare   = 4
	defaultWorkers = 8
	// failureAge is how long a failure, or an answer that does not suffice, stands before
	// the source is asked again.
	failureAge = 15 * time.Second
	// contentFailureAge is the same for content that is unusable: a revision is immutable,
	// so only a change of our limits or of the source's storage can help.
	contentFailureAge = 10 * time.Minute
	defaultTimeout    = 60 * time.Second
)

// Options of a Coordinator. Only Secrets is needed, and only for sources that have any.
type Options struct {
	Secrets Secrets
	// AllowFileSources allows Git repositories on the disk of this process.
	AllowFileSources bool
	// CacheBytes bounds the content that is kept without being in use; default 256 MiB.
	CacheBytes int64
	// MaxConcurrent bounds the operations on the network at a time, default 8. One host
	// gets at most half of them.
	MaxConcurrent int
	// Limits bound what is taken in; DefaultLimits where a field is 0.
	Limits Limits
	// Clock tells the age of answers.
	Clock clock.Clock
}

// Coordinator brings content into memory. It is safe for concurrent use; a process has one.
type Coordinator struct {
	options  Options
	store    *store.Store
	answers  *memory
	failures *memory
	asks     flights[any]
	fetches  flights[*tree.Tree]
	slots    *limiter
	counters struct{ fetches, questions, hits, shared atomic.Int64 }
}

// New returns a Coordinator.
func New(o Options) *Coordinator {
	if o.CacheBytes <= 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = defaultWorkers
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.Limits = complete(o.Limits)
	return &Coordinator{
		options:  o,
		store:    store.New(o.CacheBytes),
		answers:  newMemory(o.CacheBytes / answersShare),
		failures: newMemory(1 << 20),
		slots:    newLimiter(o.MaxConcurrent),
	}
}

func complete(l Limits) Limits {
	d := DefaultLimits()
	for _, field := range []struct{ value, fallback *int64 }{
		{&l.DownloadBytes, &d.DownloadBytes}, {&l.ContentBytes, &d.ContentBytes}, {&l.FileBytes, &d.FileBytes}, {&l.IndexBytes, &d.IndexBytes},
	} {
		if *field.value <= 0 {
			*field.value = *field.fallback
		}
	}
	for _, field := range []struct{ value, fallback *int }{
		{&l.Files, &d.Files}, {&l.PathBytes, &d.PathBytes}, {&l.PathDepth, &d.PathDepth}, {&l.References, &d.References},
	} {
		if *field.value <= 0 {
			*field.value = *field.fallback
		}
	}
	return l
}

// Resolve returns the revision that is wanted now, and when the source was asked for it: a
// commit as main@sha1:<40 hex digits>, a chart as 1.2.3@sha256:<64 hex digits>, an artifact
// as latest@sha256:<64 hex digits>. Content is not fetched, except for a chart whose
// repository does not tell its digest.
func (c *Coordinator) Resolve(ctx context.Context, want Want) (revision string, checkedAt time.Time, err error) {
	t, err := c.target(ctx, want.Namespace, want.Source, &want)
	if err != nil {
		return "", time.Time{}, err
	}
	ops := c.operation(t, want.MaxAge)
	revision, err = t.backend.Resolve(ctx, ops)
	if err != nil {
		return "", time.Time{}, t.describe(err)
	}
	return revision, ops.checkedAt(), nil
}

// Fetch returns the content of a revision that Resolve returned. One fetch of it is under
// way in the process at most; a caller that goes away does not end it for the others.
func (c *Coordinator) Fetch(ctx context.Context, want Want, revision string) (*Artifact, error) {
	t, err := c.target(ctx, want.Namespace, want.Source, &want)
	if err != nil {
		return nil, err
	}
	key, err := t.backend.Key(revision)
	if err != nil {
		return nil, t.describe(err)
	}
	content, err := c.content(ctx, t, t.identity+"/"+key, revision, want.MaxAge == 0)
	if err != nil {
		return nil, t.describe(err)
	}
	digest, err := content.DigestAt(t.path)
	if err != nil {
		return nil, t.describe(err)
	}
	return &Artifact{Revision: revision, Root: content.FS(), Path: t.path, Digest: digest, RootDigest: content.Digest()}, nil
}

// content returns the tree of a revision from the store, or fetches it into the store.
// insist tries again although a recent try failed for a passing reason.
func (c *Coordinator) content(ctx context.Context, t *target, key, revision string, insist bool) (*tree.Tree, error) {
	if content := c.store.Get(key); content != nil {
		c.counters.hits.Add(1)
		return content, nil
	}
	if err := c.recentFailure(key, insist); err != nil {
		return nil, err
	}
	content, shared, err := c.fetches.do(ctx, key, func(ctx context.Context) (*tree.Tree, error) {
		// Between the look above and here another flight may have landed.
		if content := c.store.Get(key); content != nil {
			return content, nil
		}
		klog.FromContext(ctx).V(2).Info("Fetching content", "url", t.url, "revision", revision)
		c.counters.fetches.Add(1)
		content, err := t.backend.Fetch(ctx, c.operation(t, anyAge), revision)
		if err != nil {
			c.failed(ctx, key, err)
			return nil, err
		}
		c.failures.forget(key)
		c.store.Put(key, content)
		return content, nil
	})
	if shared {
		c.counters.shared.Add(1)
	}
	return content, err
}

// recentFailure returns the error of a try that was so recent that another one is no use.
func (c *Coordinator) recentFailure(key string, insist bool) error {
	kept, ok := c.failures.recall(key)
	if !ok {
		return nil
	}
	permanent := isContent(kept.err)
	if insist && !permanent {
		return nil
	}
	age := failureAge
	if permanent {
		age = contentFailureAge
	}
	if c.options.Clock.Since(kept.at) >= age {
		return nil
	}
	c.counters.hits.Add(1)
	return kept.err
}

// failed remembers a failure, unless nobody waited for the end of the try.
func (c *Coordinator) failed(ctx context.Context, key string, err error) {
	if ctx.Err() == nil {
		c.failures.keep(key, answer{err: err, at: c.options.Clock.Now(), size: int64(len(err.Error())) + 200})
	}
}

// isContent says whether an error is about content, which trying again does not change.
func isContent(err error) bool {
	kind := fault.Kind(err)
	return kind == ErrContent || kind == ErrLimit
}

// Check asks a source whether it is there and accepts the credentials of its Secrets, and
// what it has. It always goes to the source; what it learns is remembered for Resolve.
func (c *Coordinator) Check(ctx context.Context, namespace string, source runtime.Object) (CheckResult, error) {
	t, err := c.target(ctx, namespace, source, nil)
	if err != nil {
		return CheckResult{}, err
	}
	result, err := t.backend.Check(ctx, c.operation(t, 0))
	if err != nil {
		return CheckResult{}, t.describe(err)
	}
	return result, nil
}

// Stats returns what was counted so far.
func (c *Coordinator) Stats() Stats {
	s := Stats{Fetches: c.counters.fetches.Load(), Questions: c.counters.questions.Load(), Hits: c.counters.hits.Load(), Shared: c.counters.shared.Load()}
	s.Waiting = c.asks.waiting() + c.fetches.waiting()
	s.Artifacts, s.Bytes = c.store.Usage()
	return s
}

// sourceBackend is what a kind of source implements.
type sourceBackend interface {
	// Resolve returns the revision that is wanted now.
	Resolve(ctx context.Context, ops backend.Ops) (string, error)
	// Key identifies the content of a revision among those of the source.
	Key(revision string) (string, error)
	// Fetch returns the content of a revision.
	Fetch(ctx context.Context, ops backend.Ops, revision string) (*tree.Tree, error)
	// Check looks whether the source is there.
	Check(ctx context.Context, ops backend.Ops) (backend.CheckResult, error)
}
