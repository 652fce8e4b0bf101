// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/isolated"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/lookup"
	"kumodo.io/convoy/render/internal/manifest"
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
	// bare is true when there are no objects and hooks any more.
	bare bool
}

// key is what the draft of a plan is remembered by.
func (d *draft) key(p *plan) string {
	if p.lookup != nil {
		return d.inputs
	}
	return p.inputs + p.hidden
}

// skeleton gives what of a draft says which Result is made of it.
func (d *draft) skeleton() *draft {
	return &draft{inputs: d.inputs, kinds: d.kinds, own: d.own, bare: true}
}

// stable tells whether rendering again would give the same.
func (d *draft) stable() bool {
	return !slices.ContainsFunc(d.all(), func(i item) bool { return i.unstable })
}

// item is an object on its way into a Result.
type item struct {
	object *unstructured.Unstructured
	origin string
	// first puts it into the first stage whatever its kind is.
	first bool
	// unstable is true when rendering again gave something else.
	unstable bool
	// placed is true when the object names no namespace itself, and has that of the plan.
	placed bool
}

func items(documents []manifest.Document, first bool) []item {
	list := make([]item, 0, len(documents))
	for _, d := range documents {
		list = append(list, item{object: d.Object, origin: d.Origin, unstable: d.Unstable, first: first})
	}
	return list
}

// place gives the objects that name no namespace that of the plan, in place, while nobody else
// has them: most live in one, and need not be copied for it then.
func place(items []item, namespace string) {
	for n := range items {
		metadata, _ := items[n].object.Object["metadata"].(map[string]any)
		if _, named := metadata["namespace"]; metadata != nil && !named {
			metadata["namespace"], items[n].placed = namespace, true
		}
	}
}

// runner runs the engine on a job: here, or in a worker.
type runner func(ctx context.Context, j engine.Job) (*engine.Output, error)

// here is the runner of this process.
func here(ctx context.Context, j engine.Job) (_ *engine.Output, err error) {
	defer func() {
		if p := recover(); p != nil {
			last := ""
			if read, ok := j.Root.(*content); ok {
				last = read.lastRead()
			}
			err = isolated.Panicked(ctx, j, last, fmt.Sprintf("%T", p), string(debug.Stack()))
		}
	}()
	return j.Run(ctx)
}

// draft runs the engine, until ctx ends. Errors are *Error, but for what failed to be read of
// the target cluster, and what is no fault of the content.
func (p *plan) draft(ctx context.Context, limits Limits, run runner, ready func(engine.Prepared) bool) (*draft, error) {
	job := p.job(limits)
	job.Ready = ready
	var reads *lookup.Recorder
	if p.lookup != nil {
		reads = lookup.Record(ctx, p.lookup)
		job.Helm.Lookup = reads.Read
	}
	hooks, err := p.lifecycleHooks()
	if err != nil {
		return nil, err
	}
	output, err := p.run(ctx, job, run, reads)
	if err != nil {
		return nil, err
	}
	d := &draft{inputs: p.inputs, reads: reads.Reads(), secrets: reads.Secrets()}
	d.objects = append(items(output.CRDs, true), items(output.Objects, false)...)
	place(d.objects, p.namespace)
	if !p.options.DisableHooks {
		for _, hook := range output.Hooks {
			d.hooks = append(d.hooks, chartHooks(hook, skipTests(p.options), p.timeout)...)
		}
	}
	d.hooks = append(d.hooks, hooks...)
	d.own = definedKinds(d)
	d.kinds = kindsIn(d)
	if d.reads != nil {
		d.inputs, err = d.reads.Inputs(p.inputs)
	}
	return d, err
}

// job is what the engine is given.
func (p *plan) job(limits Limits) engine.Job {
	job := engine.Job{
		Type: p.engine, Root: p.artifact.Root, Path: p.artifact.Path,
		Helm: p.helm, Values: p.sources, Charts: p.charts, Elsewhere: p.bring != nil, Inputs: &p.parts,
		Kustomize: p.kustomize, OutputBytes: limits.OutputBytes, Mutations: p.mutations,
	}
	job.Helm.Limits, job.Helm.Ratio = limits.templates(), limits.Ratio
	return job
}

func (p *plan) run(ctx context.Context, j engine.Job, run runner, reads *lookup.Recorder) (*engine.Output, error) {
	p.content.within(ctx)
	output, err := run(ctx, j)
	if failed := p.content.failure(); failed != nil {
		if ended := limit.Ended(ctx); ended != nil && !errors.Is(ended, context.Canceled) {
			failed = engineError(fmt.Errorf("reading the content: %w", ended), nil)
		}
		return nil, &unreadError{of: p, err: failed}
	}
	if err != nil {
		return nil, p.runError(err, reads)
	}
	if len(output.Absent) > 0 {
		return nil, &absentError{output.Absent}
	}
	return output, nil
}

// unreadError says that the content of a plan could not be read for the time being. That says
// nothing of the same content from elsewhere, which another one that waits for the render has.
type unreadError struct {
	of  *plan
	err error
}

func (e *unreadError) Error() string { return e.err.Error() }

func (e *unreadError) Unwrap() error { return e.err }

// runError gives the error of a run that failed.
func (p *plan) runError(err error, reads *lookup.Recorder) error {
	if reads.Failed() != nil {
		return &readError{text: err.Error(), cause: reads.Failed()} // another time it may be read
	}
	return p.contentError(err, reads.Secrets())
}

// contentError gives the error of content that cannot be rendered; what is no fault of it stays
// as it is. secrets are more of them than those of the plan.
func (p *plan) contentError(err error, secrets []string) error {
	if broken := (*isolated.BrokenError)(nil); errors.As(err, &broken) || errors.Is(err, context.Canceled) {
		return err
	}
	return engineError(err, p.scrubber(secrets))
}

// readError tells what failed to be read of the target cluster, and which template wanted it.
type readError struct {
	text  string
	cause error
}

func (e *readError) Error() string { return e.text }

func (e *readError) Unwrap() error { return e.cause }

// scrubber takes the secrets of a plan, and more, out of messages.
func (p *plan) scrubber(more []string) *scrub.Scrubber {
	if p.tooMany {
		return scrub.TooMany()
	}
	return scrub.New(append(slices.Clone(p.secrets), more...))
}
