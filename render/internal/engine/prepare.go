// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"

	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/helm"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/scrub"
	"kumodo.io/convoy/render/internal/values"
)

// Chart is a chart from elsewhere that a chart may depend on.
type Chart struct {
	helm.Wanted
	helm.Content
}

// Prepared is what is known of a render of a chart once its values are parsed and its
// dependencies found.
type Prepared struct {
	// Inputs is the digest of all that goes into the render, Hidden that of the values of Secrets.
	Inputs, Hidden string
	// Secrets are the texts of Secrets that can be looked for in messages; TooMany says that they
	// are more than can be.
	Secrets []string
	TooMany bool
	// Ranges are those by which charts from elsewhere were chosen.
	Ranges []string
}

// ErrNotWanted is the error of a Job that Ready ended.
var ErrNotWanted = errors.New("the render is not wanted")

// prepare gives the Job its values and dependencies. absent are the charts that it needs besides
// those that it has; then it cannot go on.
func (j *Job) prepare(ctx context.Context) (resolved *values.Resolved, absent []helm.Absent, err error) {
	if resolved, err = j.Values.Resolve(ctx, j.Root, j.Path); err != nil {
		if ended := limit.Ended(ctx); ended != nil {
			err = ended
		}
		return nil, nil, err
	}
	j.Helm.Values = resolved.Values
	if !j.Helm.Packaged {
		j.Helm.Dependencies, absent, err = helm.Needed(ctx, j.Root, j.Path, j.charts())
	}
	return resolved, absent, err
}

func (j *Job) charts() helm.Charts {
	if !j.Elsewhere {
		return nil
	}
	return func(w helm.Wanted) (helm.Content, bool) {
		at := slices.IndexFunc(j.Charts, func(c Chart) bool { return c.Wanted == w })
		if at < 0 {
			return helm.Content{}, false
		}
		return j.Charts[at].Content, true
	}
}

// ready asks whether the prepared render is wanted.
func (j *Job) ready(resolved *values.Resolved) (bool, error) {
	if j.Ready == nil {
		return true, nil
	}
	var p Prepared
	var dependencies []string
	for _, d := range j.Helm.Dependencies {
		dependencies = append(dependencies, d.Folder+" "+d.Digest)
		if d.Range != "" {
			p.Ranges = append(p.Ranges, d.Range)
		}
	}
	var err error
	if p.Inputs, err = j.Inputs.with(resolved.Values, dependencies); err != nil {
		return false, err
	}
	if p.Hidden, err = digest.Of(slices.Compact(slices.Sorted(slices.Values(resolved.Secrets)))); err != nil {
		return false, err
	}
	secrets, all := scrub.Distinct(resolved.Secrets)
	p.Secrets, p.TooMany = secrets, !all
	return j.Ready(p), nil
}

// chart renders a chart, if it is wanted still once it is prepared.
func (j Job) chart(ctx context.Context) (*Output, error) {
	resolved, absent, err := j.prepare(ctx)
	if err != nil || len(absent) > 0 {
		return &Output{Absent: absent}, err
	}
	wanted, err := j.ready(resolved)
	if err != nil {
		return nil, err
	}
	if !wanted {
		return nil, ErrNotWanted
	}
	rendered, err := helm.Render(ctx, j.Helm)
	if err != nil {
		return nil, err
	}
	return &Output{Output: *rendered}, nil
}
