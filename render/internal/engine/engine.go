// SPDX-License-Identifier: Apache-2.0

// Package engine turns content into objects with the engine that it is for: that part of a
// render which runs what somebody else wrote.
package engine

import (
	"context"
	"io/fs"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/helm"
	"kumodo.io/convoy/render/internal/kustomize"
	"kumodo.io/convoy/render/internal/plain"
)

// Job is what an engine works on.
type Job struct {
	// Type says which engine.
	Type corev1alpha1.RenderType
	// Root is the whole content, Path what of it is rendered.
	Root fs.FS
	Path string
	// Helm is the request for RenderHelm, whose Root and Dir are those of the Job.
	Helm helm.Request
	// Explain asks for the values that the chart is rendered with, and not for objects.
	Explain bool
	// Kustomize is what RenderKustomize adds to the kustomization.
	Kustomize corev1alpha1.KustomizeRender
	// OutputBytes is how much manifests may have together, and a kustomization read.
	OutputBytes int64
}

// Output is what an engine gives: objects, of which only charts give others than Objects; or
// what was to be explained.
type Output struct {
	helm.Output
	// Values of the chart, those of subcharts under their names.
	Values map[string]any
	// Defaults are the files of the charts in which values stand that the user did not give, by
	// the Path of the value.
	Defaults map[string]string
}

// Run runs the engine, until ctx ends. Errors name the place where the engine knows it, and
// may hold values.
func (j Job) Run(ctx context.Context) (*Output, error) {
	LimitPatches()
	var output Output
	var err error
	switch {
	case j.Explain:
		return j.explain()
	case j.Type == corev1alpha1.RenderHelm:
		var rendered *helm.Output
		if rendered, err = helm.Render(ctx, j.Helm); err == nil {
			output.Output = *rendered
		}
	case j.Type == corev1alpha1.RenderKustomize:
		output.Objects, err = kustomize.Render(ctx, j.Root, j.Path, j.Kustomize, j.OutputBytes)
	default:
		output.Objects, err = plain.Render(ctx, j.Root, j.Path, j.OutputBytes)
	}
	if err != nil {
		return nil, err
	}
	return &output, nil
}

// maxCopied is how much the operations "copy" of one JSON patch may copy.
const maxCopied = 16 << 20

// LimitPatches bounds the JSON patches of the process, those inside kustomizations too: a
// few operations that copy a part of an object into itself would make it enormous.
var LimitPatches = sync.OnceFunc(func() { jsonpatch.AccumulatedCopySizeLimit = maxCopied })
