// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"maps"
	"slices"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/helm"
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
	// Secret is true when the value comes from a Secret: it must not be shown.
	Secret bool
	// Origin of the value.
	Origin ValueOrigin
}

// ValueOrigin says which source set a value: the last of those that have it.
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
	// OriginImport is a value that a chart takes over from a subchart (import-values).
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
	return explainValues(ctx, in, Limits{}.withDefaults(), here)
}

// ExplainValues gives what the function of that name gives, within the limits of the Renderer
// and in a worker if it has any.
func (r *Renderer) ExplainValues(ctx context.Context, in Input) ([]Value, error) {
	explained, err := explainValues(ctx, in, r.limits, func(ctx context.Context, j engine.Job) (*engine.Output, error) {
		ctx, done, err := r.turn(ctx, in.Release.Namespace)
		if err != nil {
			return nil, err
		}
		defer done()
		return r.engine(ctx, j)
	})
	if ctx.Err() != nil {
		return nil, ctx.Err() // who asks has left, and ended the engine with it
	}
	return explained, err
}

func explainValues(ctx context.Context, in Input, limits Limits, run runner) ([]Value, error) {
	p, err := prepare(ctx, in)
	if err != nil || p.engine != corev1alpha1.RenderHelm {
		return nil, err
	}
	job := p.job(limits)
	job.Explain = true
	output, err := p.run(ctx, job, run, nil)
	if err != nil {
		return nil, err
	}
	e := explainer{layers: p.layers, defaults: output.Defaults}
	e.explain(nil, output.Values)
	return e.found, nil
}

type explainer struct {
	layers []values.Layer
	// defaults are the files of defaults, by their engine.Path.
	defaults map[string]string
	found    []Value
}

// explain adds what is under a path.
func (e *explainer) explain(path []string, under map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(under)) {
		here := append(slices.Clone(path), key)
		value := under[key]
		if inner, ok := value.(map[string]any); ok {
			if len(inner) > 0 {
				e.explain(here, inner)
				continue
			}
			value = inner
		}
		origin := e.origin(here)
		v := Value{Path: corev1alpha1.JoinValuePath(here), Value: value, Origin: origin, Secret: origin.Kind == "Secret"}
		if v.Secret {
			v.Value = nil
		}
		e.found = append(e.found, v)
	}
}

func (e *explainer) origin(path []string) ValueOrigin {
	for _, set := range settings(path) {
		if layer := e.layerOf(set); layer != nil {
			return ValueOrigin(layer.Origin)
		}
	}
	if file := e.defaults[engine.Path(path)]; file != "" {
		return ValueOrigin{Kind: OriginChart, Name: file}
	}
	return ValueOrigin{Kind: OriginImport}
}

// settings are the paths at which what is at a path can be set, that which counts first: for a
// global those of the charts further out, which hand it on over what is set further in.
func settings(path []string) [][]string {
	var paths [][]string
	if at := slices.Index(path, "global"); at > 0 {
		for out := range at {
			paths = append(paths, slices.Concat(path[:out], path[at:]))
		}
	}
	return append(paths, path)
}

// layerOf gives the last layer that sets what is at a path; nil when none does, or when a later
// one has put something else than a map in the place of what leads there.
func (e *explainer) layerOf(path []string) *values.Layer {
	for i := len(e.layers) - 1; i >= 0; i-- {
		if _, ok := helm.Find(e.layers[i].Values, path); ok {
			return &e.layers[i]
		}
		if replaces(e.layers[i].Values, path) {
			return nil
		}
	}
	return nil
}

// replaces tells whether values have no map where a path goes on.
func replaces(layer map[string]any, path []string) bool {
	for length := 1; length < len(path); length++ {
		found, ok := helm.Find(layer, path[:length])
		if _, isMap := found.(map[string]any); !isMap {
			return ok
		}
	}
	return false
}
