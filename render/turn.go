// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/slots"
	"kumodo.io/convoy/render/memo"
)

// flight is what comes of a render that several may have waited for.
type flight struct {
	draft *draft
	// known is true when nothing had to be rendered.
	known bool
	// prepared is what the chart was found to be; nil for other content.
	prepared *engine.Prepared
}

// draft gives what the engine gives for a plan, from memory when it has been run before.
func (r *Renderer) draft(ctx context.Context, p *plan) (*draft, error) {
	return tried(ctx, p, func(ctx context.Context) (*draft, error) {
		if !p.anew {
			if d, err, ok := r.remembered(ctx, p); ok {
				if absent := (*absentError)(nil); !errors.As(err, &absent) {
					r.hits.Add(1)
				}
				return d, err
			}
		}
		if p.lookup != nil {
			return r.draftWithLookups(ctx, p)
		}
		claim := r.slots.Claim()
		fly := func(ctx context.Context) (*flight, error) {
			defer claim.Close()
			return r.fly(ctx, p, claim)
		}
		f, _, err := r.flights.DoFor(ctx, p.raw, memo.Work[*flight]{Do: fly, Join: claim.Join}, p.tenant)
		if unread := (*unreadError)(nil); errors.As(err, &unread) && unread.of != p {
			return nil, errMoved
		}
		if err != nil {
			return nil, err
		}
		if f.prepared != nil {
			p.is(f.prepared)
		}
		if f.known {
			r.hits.Add(1)
		}
		return f.draft, nil
	})
}

// mostTries is how often a plan has a turn: once for itself, once more when charts have to be
// brought from elsewhere, and again when what it refers to changes meanwhile.
const mostTries = 5

// tried gives what comes of a plan, for which is done what its turn has shown to be needed: no turn
// is taken up by what others give.
func tried[V any](ctx context.Context, p *plan, try func(context.Context) (V, error)) (V, error) {
	for n := 1; ; n++ {
		v, err := try(ctx)
		absent := (*absentError)(nil)
		switch {
		case n == mostTries:
			return v, err
		case errors.As(err, &absent):
			err = p.fetch(ctx, absent.absent)
		case errors.Is(err, errMoved):
			err = p.look(ctx)
		default:
			return v, err
		}
		if err != nil {
			return v, err
		}
	}
}

// remembered gives what is known of a plan without a turn: what was prepared before needs none.
func (r *Renderer) remembered(ctx context.Context, p *plan) (_ *draft, err error, ok bool) {
	if p.engine == corev1alpha1.RenderHelm {
		if k, ok := r.prepared.Get(p.chart()); ok && len(p.charts) == 0 && p.bring != nil {
			return nil, &absentError{k.absent}, true
		}
		k, ok, err := r.prepared.Known(p.raw)
		if !ok || err != nil {
			return nil, err, ok
		}
		p.known(k)
	}
	if p.lookup != nil {
		return r.again(ctx, p)
	}
	d, ok, err := r.drafts.Known(p.inputs + p.hidden)
	return d, err, ok
}

// turn waits until it is the turn of a claim to run an engine, which ends with done. The time that
// an engine may take begins then.
func (r *Renderer) turn(ctx context.Context, claim *slots.Claim) (_ context.Context, done func(), err error) {
	free, err := claim.Take(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.limits.Time)
	return ctx, func() { cancel(); free() }, nil
}

// fly prepares a plan when it is its turn, and renders what is not known then. What comes of it is
// remembered, unless nobody waits any more: it may have failed for that.
func (r *Renderer) fly(ctx context.Context, p *plan, claim *slots.Claim) (*flight, error) {
	f := &flight{}
	d, err := r.run(ctx, p, claim, f)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	f.draft = d
	r.note(p, err)
	switch {
	case f.known:
	case p.inputs == "": // it could not even be prepared
		r.prepared.Remember(p.raw, nil, err)
	default:
		r.drafts.Remember(p.inputs+p.hidden, d, err)
	}
	return f, err
}

// note remembers which charts from elsewhere are needed.
func (r *Renderer) note(p *plan, err error) {
	if absent := (*absentError)(nil); errors.As(err, &absent) && p.artifact.RootDigest != "" {
		r.prepared.Put(p.chart(), &prepared{absent: absent.absent})
	}
}

// run prepares a plan when it is its turn, tells a flight what it is, and renders it unless it is
// known then.
func (r *Renderer) run(ctx context.Context, p *plan, claim *slots.Claim, f *flight) (*draft, error) {
	running, done, err := r.turn(ctx, claim)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := p.read(running); err != nil {
		return nil, err
	}
	defer p.forget()
	begun := p.engine != corev1alpha1.RenderHelm
	if begun {
		r.renders.Add(1)
	}
	var known *draft
	var knownErr error
	d, err := p.draft(running, r.limits, r.engine, func(e engine.Prepared) bool {
		p.is(&e)
		f.prepared = &e
		r.prepared.Put(p.raw, &prepared{inputs: e.Inputs, hidden: e.Hidden, ranges: e.Ranges})
		if known, knownErr, f.known = r.found(running, p); !f.known && !begun { // who is asked again had a worker end
			begun = true
			r.renders.Add(1)
		}
		return !f.known
	})
	if f.known {
		return known, knownErr
	}
	r.failed(ctx, begun, err)
	return d, err
}

// failed counts a render that failed: not one that was ended, because nobody waited for it, nor one
// that could not begin for want of a chart.
func (r *Renderer) failed(ctx context.Context, begun bool, err error) {
	if absent := (*absentError)(nil); err == nil || ctx.Err() != nil || errors.As(err, &absent) {
		return
	}
	if !begun {
		r.renders.Add(1)
	}
	r.failures.Add(1)
}

// found gives what is known of a plan once it is prepared.
func (r *Renderer) found(ctx context.Context, p *plan) (_ *draft, err error, ok bool) {
	if p.lookup != nil {
		return r.again(ctx, p)
	}
	d, ok, err := r.drafts.Known(p.inputs + p.hidden)
	return d, err, ok
}
