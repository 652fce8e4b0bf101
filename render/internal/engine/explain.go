// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/helm"
	"kumodo.io/convoy/render/internal/values"
)

// Value is a value that a chart is rendered with, and where it comes from.
type Value struct {
	// Path of keys, see corev1alpha1.JoinValuePath.
	Path string
	// Value is nil when Secret is true.
	Value  any
	Secret bool
	// Origin is where the value stands among those of the Release; else File is the file of
	// defaults in which it stands, "" for one that a chart takes over from a subchart.
	Origin values.Origin
	File   string
}

// explain gives the values of a chart and where they come from.
func (j Job) explain(ctx context.Context) (*Output, error) {
	resolved, absent, err := j.prepare(ctx)
	if err != nil || len(absent) > 0 {
		return &Output{Absent: absent}, err
	}
	merged, defaults, err := helm.Values(j.Helm)
	if err != nil {
		return nil, err
	}
	e := explainer{layers: resolved.Layers, defaults: defaults, mark: rand.Text()}
	marked := j.Helm
	marked.Values = e.markedValues()
	shadow, _, err := helm.Values(marked)
	if err != nil {
		return nil, err
	}
	e.explain(nil, merged, shadow)
	return &Output{Explained: e.found}, nil
}

// explainer finds out where values come from by having the library merge them once more, with the
// name of its layer in the place of each: what it does with globals and with all else is then known
// without being done again. What turns charts on and what removes values stays as it is: booleans,
// nulls and empty maps. Of these is looked for who can have set them.
type explainer struct {
	layers   []values.Layer
	defaults *helm.Defaults
	// mark is what names of layers begin with, and nothing else does.
	mark  string
	found []Value
}

func (e *explainer) markedValues() map[string]any {
	all := map[string]any{}
	for i, layer := range e.layers {
		all = values.Merge(all, e.marked(layer.Values, i).(map[string]any))
	}
	return all
}

func (e *explainer) marked(value any, layer int) any {
	switch v := value.(type) {
	case nil, bool:
		return value
	case map[string]any:
		marked := make(map[string]any, len(v))
		for key, inner := range v {
			marked[key] = e.marked(inner, layer)
		}
		return marked
	}
	return e.mark + strconv.Itoa(layer)
}

// named gives the layer whose name stands in the place of a value.
func (e *explainer) named(value any) (*values.Layer, bool) {
	text, _ := value.(string)
	name, ok := strings.CutPrefix(text, e.mark)
	if !ok {
		return nil, false
	}
	layer, err := strconv.Atoi(name)
	if err != nil || layer >= len(e.layers) {
		return nil, false
	}
	return &e.layers[layer], true
}

// explain adds what is under a path.
func (e *explainer) explain(path []string, under, shadow map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(under)) {
		here := append(slices.Clone(path), key)
		if inner, ok := under[key].(map[string]any); ok && len(inner) > 0 {
			marked, _ := shadow[key].(map[string]any)
			e.explain(here, inner, marked)
			continue
		}
		e.found = append(e.found, e.value(here, under[key], shadow[key]))
	}
}

func (e *explainer) value(path []string, value, shadow any) Value {
	v := Value{Path: corev1alpha1.JoinValuePath(path), Value: value, File: e.defaults.File(path)}
	layer, exact := e.named(shadow)
	if !exact && !isMarked(value) {
		layer = e.setter(path)
	}
	if layer != nil {
		v.Origin, v.File = layer.Origin, ""
	}
	v.Secret = v.Origin.Kind == values.KindSecret
	if v.Secret {
		v.Value = nil
	}
	return v
}

// isMarked tells the values in whose place the name of a layer stands if they come from one.
func isMarked(value any) bool {
	switch value.(type) {
	case nil, bool, map[string]any:
		return false
	}
	return true
}

// setter gives the layer that sets what is at a path, as far as paths tell; where several can, a
// Secret. It is nil when a default does, which a chart further out hands on.
func (e *explainer) setter(path []string) *values.Layer {
	var first *values.Layer
	found := false
	for _, set := range e.defaults.Settings(path) {
		layer := e.layerOf(set)
		if layer != nil && layer.Origin.Kind == values.KindSecret {
			return layer
		}
		if !found {
			first, found = layer, layer != nil || e.defaults.FileAt(set) != ""
		}
	}
	return first
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
