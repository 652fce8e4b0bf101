// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/isolated"
	"kumodo.io/convoy/render/internal/lookup"
	"kumodo.io/convoy/render/internal/slots"
	"kumodo.io/convoy/render/memo"
)

// defaultCacheEntries is how many renders are remembered unless Options say otherwise.
// They are far more than a process has Releases: if not all of these are remembered, those that
// are not asked for the longest go, which are always the next to be asked for.
const defaultCacheEntries = 16 << 10

// defaultCacheBytes is about how much memory they take.
const defaultCacheBytes = 512 << 20

// longRender is which part of the time of a render is long: 6 seconds of a minute.
const longRender = 10

// Options configure a Renderer.
type Options struct {
	// CacheEntries is how many renders are remembered; 0 means 16384.
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
	// content does to its process then does nothing to this one, and nothing that it refers to is
	// asked for elsewhere, see docs/rendering.md. The program's main must call
	// worker.Main of render/worker first; without it, nothing is rendered.
	Workers bool
}

// Renderer renders, and remembers what it rendered. It is for use by many goroutines.
type Renderer struct {
	// drafts have no objects any more once there is a Result.
	drafts  *memo.Memo[string, *draft]
	results *memo.Memo[string, *Result]
	// lookups are what templates read of target clusters, by the inputs without it.
	lookups *memo.Memo[string, lookup.Reads]
	// givens are what the results of each asker were made of.
	givens *memo.Memo[asker, *given]
	served lists
	// prepared are charts that were prepared, by the raw digest of their plan, and flights are
	// the renders that wait or run, by the same.
	prepared *memo.Memo[string, *prepared]
	flights  *memo.Memo[string, *flight]
	slots    *slots.Slots
	limits   Limits
	engine   runner
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
		drafts:   memo.New[string, *draft](o.CacheEntries, deterministic).Weigh(o.CacheBytes/2, (*draft).weight),
		results:  memo.New[string, *Result](o.CacheEntries, deterministic).Weigh(o.CacheBytes/2, (*Result).Weight),
		lookups:  memo.New[string, lookup.Reads](o.CacheEntries, deterministic),
		givens:   memo.New[asker, *given](o.CacheEntries, deterministic),
		prepared: memo.New[string, *prepared](o.CacheEntries, deterministic).Weigh(o.CacheBytes/16, (*prepared).weight),
		flights:  memo.New[string, *flight](0, deterministic),
		limits:   o.Limits.withDefaults(),
		engine:   here,
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
// is as far in line as the first of them.
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
	for {
		result, err := r.finished(ctx, &in, p)
		if !errors.Is(err, errBare) {
			return result, err
		}
	}
}

// errBare says that a Result is not remembered any more, and that too little of its draft is.
var errBare = errors.New("the objects of the draft are not remembered")

// finished gives the Result of a plan. The error is errBare when the plan needs another turn for
// it: its chart has to be prepared again, whose secrets are not known, or a draft has been
// forgotten that had no objects.
func (r *Renderer) finished(ctx context.Context, in *Input, p *plan) (*Result, error) {
	d, err := r.draft(ctx, p)
	if err != nil {
		return nil, err
	}
	s, err := scopesOf(ctx, in.Cluster, d)
	if err != nil {
		return nil, err
	}
	key := d.inputs + p.hidden + s.digest
	result, err := r.result(ctx, key, p, d, s)
	switch {
	case errors.Is(err, errBare):
		p.anew = true
		r.drafts.Forget(d.key(p), func(known *draft) bool { return known == d && d.bare })
	case err == nil:
		r.remember(in, p, d, s, key)
		r.strip(p, d, key)
	}
	return result, err
}

// result makes the Result of a draft, unless it is known or being made. The error is errBare when
// too little is known to make it.
func (r *Renderer) result(ctx context.Context, key string, p *plan, d *draft, s *scopes) (*Result, error) {
	if d.bare || p.short {
		result, found, err := r.results.Join(ctx, key, p.tenant)
		if !found {
			return nil, errBare
		}
		return result, err
	}
	claim := r.slots.Claim()
	finish := func(ctx context.Context) (*Result, error) {
		defer claim.Close()
		return r.finish(ctx, p, d, s, claim)
	}
	result, _, err := r.results.DoFor(ctx, key, memo.Work[*Result]{Join: claim.Join, Do: finish}, p.tenant)
	return result, err
}

// strip has the objects of a draft remembered in its Result alone, if they are there. Only for a
// cluster in which kinds have other scopes would another one be made of them, which then is
// rendered anew; what would come out different is kept.
func (r *Renderer) strip(p *plan, d *draft, result string) {
	if d.bare || !d.stable() {
		return
	}
	if _, known := r.results.Get(result); known {
		r.drafts.Put(d.key(p), d.skeleton())
	}
}
