// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
)

// errUnknown says that something has to be rendered.
var errUnknown = errors.New("it has not been rendered")

// Known gives what Render gives for an input when nothing has to be rendered or prepared for that,
// without waiting for a turn; ok is false when something has. What the Release refers to is read.
// Errors are those of Render.
func (r *Renderer) Known(ctx context.Context, in Input) (result *Result, ok bool, err error) {
	if result, ok := r.recall(ctx, &in); ok {
		r.hits.Add(1)
		return result, true, nil
	}
	p, err := prepare(ctx, in)
	if err != nil {
		return nil, false, err
	}
	d, err := tried(ctx, p, func(ctx context.Context) (*draft, error) {
		if d, err, ok := r.remembered(ctx, p); ok {
			return d, err
		}
		return nil, errUnknown
	})
	switch {
	case errors.Is(err, errUnknown):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	s, err := scopesOf(ctx, in.Cluster, d)
	if err != nil {
		return nil, false, err
	}
	key := d.inputs + p.hidden + s.digest
	result, ok, err = r.results.Known(key)
	if ok && err == nil {
		r.hits.Add(1)
		r.remember(&in, p, d, s, key)
	}
	return result, ok, err
}
