// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/mutation"
	"kumodo.io/convoy/render/internal/order"
	"kumodo.io/convoy/render/internal/selection"
	"kumodo.io/convoy/render/internal/slots"
)

// finish makes a Result of a draft, when it is the turn of the claim, within the time of a
// render: namespaces, mutations, stages, order, digests, and the checks that need all objects.
// Errors are *Error, but for what is no fault of the content.
func (r *Renderer) finish(ctx context.Context, p *plan, d *draft, s *scopes, claim *slots.Claim) (*Result, error) {
	ctx, done, err := r.turn(ctx, claim)
	if err != nil {
		return nil, err
	}
	defer done()
	result, err := assemble(ctx, p, d, s, r.limits, r.engine)
	if err != nil {
		return nil, p.contentError(err, d.secrets)
	}
	return result, nil
}

func assemble(ctx context.Context, p *plan, d *draft, s *scopes, limits Limits, run runner) (*Result, error) {
	f := finisher{plan: p, scopes: s, most: limits.OutputBytes}
	for _, i := range d.objects {
		f.items = append(f.items, f.place(i))
	}
	for _, h := range d.hooks {
		f.items = append(f.items, f.place(h.item))
		f.hooks = append(f.hooks, h.hook)
	}
	if err := f.mutate(ctx, run); err != nil {
		return nil, err
	}
	result := &Result{Inputs: d.inputs, Ranges: p.ranges}
	objects := len(d.objects)
	for n, i := range f.items {
		if err := limit.Ended(ctx); err != nil {
			return nil, err
		}
		object, err := f.object(i)
		if err != nil {
			return nil, err
		}
		if n < objects {
			result.Objects = append(result.Objects, object)
			continue
		}
		hook := f.hooks[n-objects]
		hook.Object = object
		if hook.runs(p.upgrade) {
			result.Hooks = append(result.Hooks, hook)
		} else {
			result.OtherHooks = append(result.OtherHooks, hook)
		}
	}
	if err := arrange(result); err != nil {
		return nil, err
	}
	result.NonDeterministic = f.unstable(result)
	var err error
	result.Digest, err = result.digest(func(o Object) (string, error) { return o.Digest, nil })
	return result, err
}

// finisher is the work on one Result.
type finisher struct {
	plan   *plan
	scopes *scopes
	items  []item // objects, then those of hooks
	hooks  []Hook // of the items behind the objects
	// most is how many bytes mutations may add.
	most int64
}

// place sets the namespace that an object ends up in. The draft's object is not touched:
// what changes is copied.
func (f *finisher) place(i item) item {
	namespace := i.object.GetNamespace()
	wanted := ""
	if f.scopes.namespaced[i.object.GroupVersionKind().GroupKind()] {
		if wanted = namespace; wanted == "" || i.placed {
			wanted = f.plan.namespace
		}
	}
	i.placed = false // from here on it is the object's own
	if wanted == namespace {
		return i
	}
	root := maps.Clone(i.object.Object)
	metadata, _ := root["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata["namespace"] = wanted; wanted == "" {
		delete(metadata, "namespace")
	}
	root["metadata"] = metadata
	i.object = &unstructured.Unstructured{Object: root}
	return i
}

// mutate applies the Release's mutations to the objects they match, where engines run: those can
// make much of the objects, and take long over them. What a mutation does not match as it stands,
// none does after another.
func (f *finisher) mutate(ctx context.Context, run runner) error {
	if len(f.plan.mutations) == 0 {
		return nil
	}
	places, err := f.matched(ctx)
	if err != nil {
		return err
	}
	if len(places) == 0 {
		run = here // there is nothing to do but to say so
	}
	job := engine.Job{Mutations: f.plan.mutations, OutputBytes: f.most, Mutate: &mutation.Objects{
		Namespaced: f.scopes.namespaced, Namespace: f.plan.namespace, Most: f.most,
	}}
	for _, at := range places {
		job.Mutate.Documents = append(job.Mutate.Documents, manifest.Document{Object: f.items[at].object, Origin: f.items[at].origin})
	}
	output, err := run(ctx, job)
	if err != nil {
		return err
	}
	for n, at := range places {
		f.items[at].object = output.Objects[n].Object
	}
	return nil
}

// matched gives the places of the items that a mutation matches.
func (f *finisher) matched(ctx context.Context) ([]int, error) {
	var selectors []*selection.Selector
	for _, m := range f.plan.mutations {
		selector, err := selection.New(m.Target)
		if err != nil {
			return nil, err
		}
		selectors = append(selectors, selector)
	}
	var places []int
	for at, i := range f.items {
		for _, selector := range selectors {
			if err := limit.Ended(ctx); err != nil {
				return nil, err
			}
			if selector.Matches(i.object) {
				places = append(places, at)
				break
			}
		}
	}
	return places, nil
}

// object finishes one object.
func (f *finisher) object(i item) (Object, error) {
	stage, err := f.stage(i)
	if err != nil {
		return Object{}, err
	}
	i.object = normalised(i.object)
	sum, err := digest.Of(i.object.Object)
	if err != nil {
		return Object{}, fmt.Errorf("%s (%s): %w", manifest.Name(i.object.Object), i.origin, err)
	}
	return Object{Object: i.object, Stage: stage, Digest: sum, Origin: i.origin, Keep: keep(i.object)}, nil
}

// stage gives the stage of an object: by its annotation, else by its place in the source,
// else by its kind. A custom resource whose kind is defined in the same render always
// comes after its definition can be there.
func (f *finisher) stage(i item) (int32, error) {
	gk := i.object.GroupVersionKind().GroupKind()
	stage := order.Stage(gk)
	if i.first {
		stage = order.Foundations
	}
	if annotation, ok := i.object.GetAnnotations()[corev1alpha1.AnnotationStage]; ok {
		wanted, err := strconv.ParseInt(strings.TrimSpace(annotation), 10, 32)
		if err != nil {
			return 0, &manifest.InvalidError{Object: manifest.Name(i.object.Object), Origin: i.origin,
				Problem: fmt.Sprintf("the annotation %s is %q; an integer is needed", corev1alpha1.AnnotationStage, annotation)}
		}
		stage = int32(wanted)
	}
	if f.scopes.defined[gk] && stage <= order.Foundations {
		stage = order.Foundations + 1
	}
	return stage, nil
}

// unstable gives the keys of the objects that rendering again gave differently.
func (f *finisher) unstable(r *Result) []corev1alpha1.ObjectKey {
	marked := map[corev1alpha1.ObjectKey]bool{}
	for _, i := range f.items {
		if i.unstable {
			marked[keyOf(i.object)] = true
		}
	}
	var keys []corev1alpha1.ObjectKey
	add := func(o Object) {
		if key := o.Key(); marked[key] {
			keys = append(keys, key)
			delete(marked, key)
		}
	}
	for _, o := range r.Objects {
		add(o)
	}
	for _, h := range r.Hooks {
		add(h.Object)
	}
	return keys
}

// keep tells whether the source protects an object from deletion.
func keep(object *unstructured.Unstructured) bool {
	annotations := object.GetAnnotations()
	policy := strings.ToLower(strings.TrimSpace(annotations["helm.sh/resource-policy"]))
	return annotations[corev1alpha1.AnnotationPrune] == "disabled" || policy == "keep"
}
