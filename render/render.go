// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/isolated"
	"kumodo.io/convoy/render/internal/lookup"
	"kumodo.io/convoy/render/internal/memo"
	"kumodo.io/convoy/render/internal/slots"
)

// defaultCacheEntries is how many renders are remembered unless Options say otherwise.
const defaultCacheEntries = 1024

// defaultCacheBytes is about how much memory they take.
const defaultCacheBytes = 512 << 20

// longRender is which part of the time of a render is long: 6 seconds of a minute.
const longRender = 10

// Options configure a Renderer.
type Options struct {
	// CacheEntries is how many renders are remembered; 0 means 1024.
	CacheEntries int
	// CacheBytes is about how much memory the renders that are remembered take; 0 means 512 MiB.
	// One that takes more than half of it is not remembered.
	CacheBytes int64
	// MaxConcurrent is how many renders run at the same time; 0 means one per processor. The
	// namespaces of Releases share them: where they wait, they take turns, and of two or more,
	// one is left to the others by those whose renders take long, see longRender.
	MaxConcurrent int
	// Limits of each render.
	Limits Limits
	// Workers runs engines in processes of their own, at most MaxConcurrent of them: what
	// content does to its process then does nothing to this one. The program's main must call
	// worker.Main of render/worker first; without it, nothing is rendered.
	Workers bool
}

// Renderer renders, and remembers what it rendered. It is for use by many goroutines.
type Renderer struct {
	drafts  *memo.Memo[string, *draft]
	results *memo.Memo[string, *Result]
	// lookups are what templates read of target clusters, by the inputs without it.
	lookups *memo.Memo[string, lookup.Reads]
	// givens are what the results of each asker were made of.
	givens *memo.Memo[asker, *given]
	slots  *slots.Slots
	limits Limits
	engine runner
	// workers are where engines run; nil when they run here.
	workers *isolated.Pool

	renders, hits, failures atomic.Int64
}

// Stats counts what a Renderer did.
type Stats struct {
	// Renders that were run, and how many of them failed.
	Renders, Failures int64
	// Hits are calls that were answered without running one.
	Hits int64
	// Ended are workers that ended before their render did, for having taken too much time or
	// memory, or because they crashed, which a stack that overflows does.
	EndedByTime, EndedByMemory, EndedByCrash int64
}

// New makes a Renderer.
func New(o Options) *Renderer {
	engine.LimitPatches()
	if o.CacheEntries <= 0 {
		o.CacheEntries = defaultCacheEntries
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = defaultCacheBytes
	}
	if o.MaxConcurrent <= 0 {
		o.MaxConcurrent = runtime.GOMAXPROCS(0)
	}
	r := &Renderer{
		drafts:  memo.New[string, *draft](o.CacheEntries, deterministic).Weigh(o.CacheBytes/2, (*draft).weight),
		results: memo.New[string, *Result](o.CacheEntries, deterministic).Weigh(o.CacheBytes/2, (*Result).weight),
		lookups: memo.New[string, lookup.Reads](o.CacheEntries, deterministic),
		givens:  memo.New[asker, *given](o.CacheEntries, deterministic),
		limits:  o.Limits.withDefaults(),
		engine:  here,
	}
	r.slots = slots.New(o.MaxConcurrent, r.limits.Time/longRender, time.Now)
	if o.Workers {
		r.workers = isolated.NewPool(r.limits.MemoryBytes)
		r.engine = r.workers.Run
	}
	return r
}

// Stats gives the counts so far.
func (r *Renderer) Stats() Stats {
	s := Stats{Renders: r.renders.Load(), Failures: r.failures.Load(), Hits: r.hits.Load()}
	if r.workers != nil {
		s.EndedByTime, s.EndedByMemory = r.workers.Ended(isolated.Time), r.workers.Ended(isolated.Memory)
		s.EndedByCrash = r.workers.Ended(isolated.Stack) + r.workers.Ended(isolated.Crash)
	}
	return s
}

// Render gives the objects that a Release wants. Inputs that were rendered before, by this
// Renderer, are not rendered again, whether that succeeded or not. When ctx ends the call
// returns; a render goes on for others who wait for it, and ends when nobody does.
//
// Renders wait for their turn by the namespaces of the Releases; one that several wait for
// has the turn of the first who asked.
//
// A render without any object is no error. Errors: *Error when content or configuration is
// at fault, and what the interfaces of Input return.
func (r *Renderer) Render(ctx context.Context, in Input) (*Result, error) {
	if result, ok := r.recall(ctx, &in); ok {
		r.hits.Add(1)
		return result, nil
	}
	return r.fresh(ctx, in)
}

// fresh gives what may be new.
func (r *Renderer) fresh(ctx context.Context, in Input) (*Result, error) {
	p, err := prepare(ctx, in)
	if err != nil {
		return nil, err
	}
	p.tenant = in.Release.Namespace
	d, err := r.draft(ctx, p)
	if err != nil {
		return nil, err
	}
	s, err := scopesOf(ctx, in.Cluster, d)
	if err != nil {
		return nil, err
	}
	key := d.inputs + p.hidden + s.digest
	result, _, err := r.results.Do(ctx, key, func(context.Context) (*Result, error) { return finish(p, d, s, r.limits) })
	if err == nil {
		r.remember(&in, p, d, s, key)
	}
	return result, err
}

// draft gives what the engine gives for a plan, from memory when it has been run before.
func (r *Renderer) draft(ctx context.Context, p *plan) (*draft, error) {
	if p.lookup != nil {
		return r.draftWithLookups(ctx, p)
	}
	d, known, err := r.drafts.Do(ctx, p.inputs+p.hidden, func(ctx context.Context) (*draft, error) { return r.run(ctx, p) })
	if known {
		r.hits.Add(1)
	}
	return d, err
}

// turn waits until it is a tenant's turn to run an engine, which ends with done. The time that
// an engine may take begins then.
func (r *Renderer) turn(ctx context.Context, tenant string) (_ context.Context, done func(), err error) {
	free, err := r.slots.Take(ctx, tenant)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.limits.Time)
	return ctx, func() { cancel(); free() }, nil
}

// run renders, when it is its turn.
func (r *Renderer) run(ctx context.Context, p *plan) (*draft, error) {
	running, done, err := r.turn(ctx, p.tenant)
	if err != nil {
		return nil, err
	}
	defer done()
	r.renders.Add(1)
	d, err := p.draft(running, r.limits, r.engine)
	if err != nil {
		if ctx.Err() == nil { // else it was ended, because nobody waited for it
			r.failures.Add(1)
		}
		return nil, err
	}
	return d, nil
}
