// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"runtime"
	"sync/atomic"

	"kumodo.io/convoy/render/internal/memo"
)

// defaultCacheEntries is how many renders are remembered unless Options say otherwise.
const defaultCacheEntries = 1024

// Options configure a Renderer.
type Options struct {
	// CacheEntries is how many renders are remembered; 0 means 1024.
	CacheEntries int
	// MaxConcurrent is how many renders run at the same time; 0 means one per processor.
	MaxConcurrent int
}

// Renderer renders, and remembers what it rendered. It is for use by many goroutines.
type Renderer struct {
	drafts  *memo.Memo[*draft]
	results *memo.Memo[*Result]
	slots   chan struct{}

	renders, hits, failures atomic.Int64
}

// Stats counts what a Renderer did.
type Stats struct {
	// Renders that were run, and how many of them failed.
	Renders, Failures int64
	// Hits are calls that were answered without running one.
	Hits int64
}

// New makes a Renderer.
func New(o Options) *Renderer {
	if o.CacheEntries <= 0 {
		o.CacheEntries = defaultCacheEntries
	}
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = runtime.GOMAXPROCS(0)
	}
	return &Renderer{
		drafts:  memo.New[*draft](o.CacheEntries, deterministic),
		results: memo.New[*Result](o.CacheEntries, deterministic),
		slots:   make(chan struct{}, o.MaxConcurrent),
	}
}

// Stats gives the counts so far.
func (r *Renderer) Stats() Stats {
	return Stats{Renders: r.renders.Load(), Failures: r.failures.Load(), Hits: r.hits.Load()}
}

// Render gives the objects that a Release wants. Inputs that were rendered before, by this
// Renderer, are not rendered again, whether that succeeded or not. When ctx ends the call
// returns; a render that has begun goes on for others.
//
// A render without any object is no error. Errors: *Error when content or configuration is
// at fault, and what the interfaces of Input return.
func (r *Renderer) Render(ctx context.Context, in Input) (*Result, error) {
	p, err := prepare(ctx, in)
	if err != nil {
		return nil, err
	}
	d, known, err := r.drafts.Do(ctx, p.inputs, func(context.Context) (*draft, error) { return r.run(p) })
	if known {
		r.hits.Add(1)
	}
	if err != nil {
		return nil, err
	}
	s, err := scopesOf(ctx, in.Cluster, d)
	if err != nil {
		return nil, err
	}
	result, _, err := r.results.Do(ctx, p.inputs+s.digest, func(context.Context) (*Result, error) { return finish(p, d, s) })
	return result, err
}

// run renders, when it is its turn.
func (r *Renderer) run(p *plan) (*draft, error) {
	r.slots <- struct{}{}
	defer func() { <-r.slots }()
	r.renders.Add(1)
	d, err := p.draft()
	if err != nil {
		r.failures.Add(1)
		return nil, engineError(err, p.secrets)
	}
	return d, nil
}
