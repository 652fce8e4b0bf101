// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/values"
)

// Value is a value that a chart is rendered with, and where it comes from.
type Value struct {
	// Path of keys, joined by dots; a dot or backslash in a key has a backslash before it.
	// Lists are values as a whole, and so are empty maps.
	Path string
	// Value is a string, a number, a boolean, nil, a list or an empty map. It is nil when
	// Secret is true.
	Value any
	// Secret is true when the value comes from a Secret, or is a boolean that may: it must not be
	// shown.
	Secret bool
	// Origin of the value.
	Origin ValueOrigin
}

// ValueOrigin says which source set a value: the last of those that have it, or for a global of a
// subchart the one that set it for a chart further out.
type ValueOrigin struct {
	// Kind is one of the Origin constants, or the kind in spec.render.helm.valuesFrom:
	// ConfigMap, Secret, GitRepository, OCIRegistry.
	Kind string
	// Name of the file, the object or the chart; empty for OriginRelease.
	Name string
	// Key in a ConfigMap or Secret; file in a GitRepository or OCIRegistry.
	Key string
}

// Kinds of origins besides those of valuesFrom.
const (
	// OriginChart is a default of a chart; Name is its values.yaml, with the charts that it
	// is a subchart of.
	OriginChart = "Chart"
	// OriginImport is a default that a chart takes over from a subchart (import-values).
	OriginImport = "ChartImport"
	// OriginFile is a file of spec.render.helm.valuesFiles.
	OriginFile = values.KindFile
	// OriginRelease is spec.render.helm.values.
	OriginRelease = values.KindRelease
)

// ExplainValues gives the values that the chart of a Release is rendered with, in the order
// of their paths: those of subcharts stand under the subcharts' names, globals in each of
// them. Defaults that a null removed are not there. Without a chart there are none.
// Nothing is rendered. Errors are those of Render.
func ExplainValues(ctx context.Context, in Input) ([]Value, error) {
	return New(Options{}).ExplainValues(ctx, in)
}

// ExplainValues gives what the function of that name gives, within the limits of the Renderer
// and in a worker if it has any.
func (r *Renderer) ExplainValues(ctx context.Context, in Input) ([]Value, error) {
	p, err := prepare(ctx, in)
	if err != nil || p.engine != corev1alpha1.RenderHelm {
		return nil, err
	}
	explained, err := tried(ctx, p, func(ctx context.Context) ([]Value, error) { return r.explain(ctx, p) })
	if ctx.Err() != nil {
		return nil, ctx.Err() // who asks has left, and ended the engine with it
	}
	return explained, err
}

// explain gives the values of a plan, when it is its turn.
func (r *Renderer) explain(ctx context.Context, p *plan) ([]Value, error) {
	claim := r.slots.Claim()
	defer claim.Close()
	claim.Join(p.tenant)
	ctx, done, err := r.turn(ctx, claim)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := p.read(ctx); err != nil {
		return nil, err
	}
	job := p.job(r.limits)
	job.Explain = true
	output, err := p.run(ctx, job, r.engine, nil)
	if err != nil {
		return nil, err
	}
	explained := make([]Value, 0, len(output.Explained))
	for _, v := range output.Explained {
		explained = append(explained, Value{Path: v.Path, Value: v.Value, Secret: v.Secret, Origin: originOf(v)})
	}
	return explained, nil
}

func originOf(v engine.Value) ValueOrigin {
	switch {
	case v.Origin != values.Origin{}:
		return ValueOrigin(v.Origin)
	case v.File != "":
		return ValueOrigin{Kind: OriginChart, Name: v.File}
	}
	return ValueOrigin{Kind: OriginImport}
}
