// SPDX-License-Identifier: Apache-2.0

package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/helm"
	"kumodo.io/convoy/render/internal/kustomize"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/plain"
)

// draft is what an engine gives, before the target cluster's scopes and the Release's
// mutations come in. It is shared and never changed.
type draft struct {
	objects []item
	hooks   []hookItem
}

// item is an object on its way into a Result.
type item struct {
	object *unstructured.Unstructured
	origin string
	// first puts it into the first stage whatever its kind is.
	first bool
	// unstable is true when rendering again gave something else.
	unstable bool
}

func items(documents []manifest.Document, first bool) []item {
	list := make([]item, 0, len(documents))
	for _, d := range documents {
		list = append(list, item{object: d.Object, origin: d.Origin, unstable: d.Unstable, first: first})
	}
	return list
}

// draft runs the engine.
func (p *plan) draft() (*draft, error) {
	switch p.engine {
	case corev1alpha1.RenderHelm:
		return p.draftHelm()
	case corev1alpha1.RenderKustomize:
		documents, err := kustomize.Render(p.artifact.Root, p.artifact.Path, p.kustomize)
		return &draft{objects: items(documents, false), hooks: p.hooks}, err
	}
	documents, err := plain.Render(p.artifact.Root, p.artifact.Path)
	return &draft{objects: items(documents, false), hooks: p.hooks}, err
}

func (p *plan) draftHelm() (*draft, error) {
	output, err := helm.Render(p.helm)
	if err != nil {
		return nil, err
	}
	d := &draft{objects: append(items(output.CRDs, true), items(output.Objects, false)...)}
	if !p.options.DisableHooks {
		for _, hook := range output.Hooks {
			d.hooks = append(d.hooks, chartHooks(hook, skipTests(p.options), p.timeout)...)
		}
	}
	d.hooks = append(d.hooks, p.hooks...)
	return d, nil
}
