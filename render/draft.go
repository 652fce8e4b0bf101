// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/helm"
	"kumodo.io/convoy/render/internal/kustomize"
	"kumodo.io/convoy/render/internal/lookup"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/plain"
	"kumodo.io/convoy/render/internal/scrub"
)

// draft is what an engine gives, before the target cluster's scopes and the Release's
// mutations come in. It is shared and never changed.
type draft struct {
	// inputs is the digest of all that went in, lookups included.
	inputs  string
	objects []item
	hooks   []hookItem
	// kinds are those of the objects and hooks, each once; own says of those that the draft
	// itself defines whether their objects live in namespaces.
	kinds []kind
	own   map[schema.GroupVersionKind]bool
	// reads are what templates read of the target cluster, secrets what of it must not
	// appear in messages.
	reads   lookup.Reads
	secrets []string
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

// draft runs the engine, until ctx ends. Errors are *Error, but for what failed to be read of
// the target cluster.
func (p *plan) draft(ctx context.Context, limits Limits) (*draft, error) {
	d, err := p.run(ctx, limits)
	if err != nil {
		return nil, err
	}
	d.own = definedKinds(d)
	d.kinds = kindsIn(d)
	return d, nil
}

func (p *plan) run(ctx context.Context, limits Limits) (*draft, error) {
	var documents []manifest.Document
	var err error
	switch p.engine {
	case corev1alpha1.RenderHelm:
		return p.draftHelm(ctx, limits)
	case corev1alpha1.RenderKustomize:
		documents, err = kustomize.Render(ctx, p.artifact.Root, p.artifact.Path, p.kustomize, limits.OutputBytes)
	default:
		documents, err = plain.Render(ctx, p.artifact.Root, p.artifact.Path, limits.OutputBytes)
	}
	if err != nil {
		return nil, engineError(err, p.scrubber(nil))
	}
	return &draft{inputs: p.inputs, objects: items(documents, false), hooks: p.hooks}, nil
}

func (p *plan) draftHelm(ctx context.Context, limits Limits) (*draft, error) {
	request := p.helm
	request.Limits, request.Ratio = limits.templates(), limits.Ratio
	var reads *lookup.Recorder
	if p.lookup != nil {
		reads = lookup.Record(ctx, p.lookup)
		request.Lookup = reads.Read
	}
	output, err := helm.Render(ctx, request)
	if reads.Failed() != nil {
		return nil, err // another time it may be read
	}
	if err != nil {
		return nil, engineError(err, p.scrubber(reads.Secrets()))
	}
	d := &draft{inputs: p.inputs, reads: reads.Reads(), secrets: reads.Secrets()}
	d.objects = append(items(output.CRDs, true), items(output.Objects, false)...)
	if !p.options.DisableHooks {
		for _, hook := range output.Hooks {
			d.hooks = append(d.hooks, chartHooks(hook, skipTests(p.options), p.timeout)...)
		}
	}
	d.hooks = append(d.hooks, p.hooks...)
	if d.reads != nil {
		d.inputs, err = d.reads.Inputs(p.inputs)
	}
	return d, err
}

// scrubber takes the secrets of a plan, and more, out of messages.
func (p *plan) scrubber(more []string) *scrub.Scrubber {
	return scrub.New(append(slices.Clone(p.secrets), more...))
}
