// SPDX-License-Identifier: Apache-2.0

// Package engine turns content into objects with the engine that it is for: that part of a
// render which runs what somebody else wrote.
package engine

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/helm"
	"kumodo.io/convoy/render/internal/kustomize"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/mutation"
	"kumodo.io/convoy/render/internal/plain"
	"kumodo.io/convoy/render/internal/values"
	"kumodo.io/convoy/render/internal/weight"
)

// Job is what an engine works on; or objects that mutations change, if Mutate is set.
type Job struct {
	// Type says which engine.
	Type corev1alpha1.RenderType
	// Root is the whole content, Path what of it is rendered.
	Root fs.FS
	Path string
	// Helm is the request for RenderHelm, whose Root and Dir are those of the Job. Its Values and
	// Dependencies are found by the Job.
	Helm helm.Request
	// Values of the Release.
	Values values.Sources
	// Charts are those from elsewhere that are there for the chart to depend on; Elsewhere says
	// that there may be others.
	Charts    []Chart
	Elsewhere bool
	// Inputs are those of the render but for what is found by the Job.
	Inputs *Inputs
	// Ready is asked once the chart can be rendered whether it is to be; nil says that it is.
	Ready func(Prepared) bool
	// Explain asks for the values that the chart is rendered with, and not for objects.
	Explain bool
	// Kustomize is what RenderKustomize adds to the kustomization.
	Kustomize corev1alpha1.KustomizeRender
	// OutputBytes is how much manifests may have together, and a kustomization read. What is made
	// of it may take InMemory times as much.
	OutputBytes int64
	// Mutations are those of the Release. An engine does not begin unless all of them can be used.
	Mutations []corev1alpha1.Mutation
	// Mutate are objects that the Mutations are applied to.
	Mutate *mutation.Objects
}

// InMemory is how many times the bytes that a manifest may have it may take in memory: what is
// usual takes six times its text, and what is meant to take much forty times.
const InMemory = 4

// Output is what an engine gives: objects, of which only charts give others than Objects; what
// was to be explained; or all objects that were to be mutated, in their order.
type Output struct {
	helm.Output
	// Explained are the values of the chart, those of subcharts under their names.
	Explained []Value
	// Absent are charts from elsewhere that the chart needs. Then there is nothing else.
	Absent []helm.Absent
}

// Run runs the engine, until ctx ends. Errors name the place where the engine knows it, and
// may hold values; ErrNotWanted is that of a Job that Ready ended.
func (j Job) Run(ctx context.Context) (*Output, error) {
	LimitPatches()
	if j.Mutate != nil {
		return j.mutate(ctx)
	}
	if err := mutation.Check(ctx, j.Mutations); err != nil {
		return nil, err
	}
	output, err := j.run(ctx)
	if err == nil {
		err = output.within(j.OutputBytes * InMemory)
	}
	if err != nil {
		return nil, err
	}
	return output, nil
}

// mutate applies the Mutations.
func (j Job) mutate(ctx context.Context) (*Output, error) {
	mutated, err := j.Mutate.Apply(ctx, j.Mutations)
	if err != nil {
		return nil, err
	}
	return &Output{Output: helm.Output{Objects: mutated}}, nil
}

func (j Job) run(ctx context.Context) (*Output, error) {
	var output Output
	var err error
	switch {
	case j.Explain:
		return j.explain(ctx)
	case j.Type == corev1alpha1.RenderHelm:
		return j.chart(ctx)
	case j.Type == corev1alpha1.RenderKustomize:
		output.Objects, err = kustomize.Render(ctx, j.Root, j.Path, j.Kustomize, j.OutputBytes)
	default:
		output.Objects, err = plain.Render(ctx, j.Root, j.Path, j.OutputBytes)
	}
	return &output, err
}

// within refuses what would take too much memory of whoever gets it.
func (o *Output) within(most int64) error {
	documents := slices.Concat(o.CRDs, o.Objects)
	for _, h := range o.Hooks {
		documents = append(documents, h.Document)
	}
	var bytes int64
	for _, d := range documents {
		if bytes += weight.Of(d.Object.Object); bytes > most {
			return tooLarge(fmt.Sprintf("%s (%s)", manifest.Name(d.Object.Object), d.Origin), "objects", most)
		}
	}
	for _, v := range o.Explained {
		if bytes += weight.Of(v.Path) + weight.Of(v.Value); bytes > most {
			return tooLarge(fmt.Sprintf("the value %q", v.Path), "values", most)
		}
	}
	return nil
}

func tooLarge(last, all string, most int64) error {
	return fmt.Errorf("%s: %w", last, limit.Of(limit.FlagBytes, "it and all %s before it take more than %s of memory", all, limit.Size(most)))
}

// maxCopied is how much the operations "copy" of one JSON patch may copy.
const maxCopied = 16 << 20

// LimitPatches bounds the JSON patches of the process, those inside kustomizations too: a
// few operations that copy a part of an object into itself would make it enormous.
var LimitPatches = sync.OnceFunc(func() { jsonpatch.AccumulatedCopySizeLimit = maxCopied })
