// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/budget"
	"kumodo.io/convoy/fetch/internal/cloud"
	"kumodo.io/convoy/fetch/internal/store"
	"kumodo.io/convoy/fetch/internal/tree"
)

const (
	defaultCacheBytes = 256 << 20
	// answersShare is the part of CacheBytes that answers about references, indexes and
	// tags may take besides.
	answersShare   = 4
	defaultWorkers = 8
	defaultTimeout = 60 * time.Second
)

// Options of a Coordinator. Only Secrets is needed, and only for sources that have any.
type Options struct {
	Secrets Secrets
	// AllowFileSources allows Git repositories on the disk of this process.
	AllowFileSources bool
	// CacheBytes bounds the content that is kept without being in use; default 256 MiB. All
	// that is being fetched may take as much together, besides; of what has no room there, one
	// at a time is fetched, and the others wait.
	CacheBytes int64
	// MaxConcurrent bounds the operations on the network at a time, default 8. One host
	// gets at most half of them. Those that wait for something to come count for their host
	// only.
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
	asks     flights[answer]
	fetches  flights[*tree.Tree]
	slots    *limiter
	// taken is what is being taken in.
	taken  *budget.Budget
	tokens *access.Tokens
	clouds *cloud.Clouds
	// counts are by the kind of source.
	counts       map[string]*counts
	hits, shared atomic.Int64
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
		taken:    budget.New(o.CacheBytes),
		tokens:   access.NewTokens(o.Clock.Now),
		clouds:   cloud.New(o.Clock.Now),
		counts:   newCounts(),
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
		{&l.Files, &d.Files}, {&l.Ratio, &d.Ratio}, {&l.PathBytes, &d.PathBytes}, {&l.PathDepth, &d.PathDepth}, {&l.References, &d.References},
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
// repository does not tell its digest, and for a Git tag of a range once, from servers that
// cannot tell otherwise whether it is a commit.
func (c *Coordinator) Resolve(ctx context.Context, want Want) (revision string, checkedAt time.Time, err error) {
	t, err := c.target(ctx, want.Namespace, want.Source, &want)
	if err != nil {
		return "", time.Time{}, err
	}
	ops := c.operation(t, c.demand(want.MaxAge, want.Since))
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
	key = t.identity + "/" + key
	d := c.demand(want.MaxAge, want.Since)
	base, err := c.base(ctx, t, key, revision, d)
	content := base.tree
	if err == nil {
		content, err = c.whole(ctx, t, base.key, content, d)
	}
	if err != nil {
		return nil, t.describe(err)
	}
	digest := ""
	if want.File == "" {
		if digest, err = content.DigestAt(t.path); err != nil {
			return nil, t.describe(err)
		}
	}
	root := content.FS()
	if base.reason != nil {
		root = content.GrowingFS(context.WithoutCancel(ctx), c.options.Limits, c.more(t, key, revision, want, base.reason))
	}
	return &Artifact{Revision: revision, Root: root, Path: t.path, Digest: digest, RootDigest: content.Digest()}, nil
}

// Check asks a source whether it is there and accepts the credentials of its Secrets, and
// what it has. It always goes to the source; what it learns is remembered for Resolve.
func (c *Coordinator) Check(ctx context.Context, namespace string, source runtime.Object) (CheckResult, error) {
	t, err := c.target(ctx, namespace, source, nil)
	if err != nil {
		return CheckResult{}, err
	}
	result, err := t.backend.Check(ctx, c.operation(t, c.demand(0, time.Time{})))
	if err != nil {
		return CheckResult{}, t.describe(err)
	}
	return result, nil
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
