// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/digest"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/mutation"
	"kumodo.io/convoy/render/internal/order"
	"kumodo.io/convoy/render/internal/weight"
)

// finish makes a Result of a draft: namespaces, mutations, stages, order, digests, and the
// checks that need all objects. Errors are *Error.
func finish(p *plan, d *draft, s *scopes, limits Limits) (*Result, error) {
	result, err := assemble(p, d, s, limits)
	if err != nil {
		return nil, engineError(err, p.scrubber(d.secrets))
	}
	return result, nil
}

func assemble(p *plan, d *draft, s *scopes, limits Limits) (*Result, error) {
	f := finisher{plan: p, scopes: s, most: limits.OutputBytes}
	for _, i := range d.objects {
		f.items = append(f.items, f.place(i))
	}
	for _, h := range d.hooks {
		f.items = append(f.items, f.place(h.item))
		f.hooks = append(f.hooks, h.hook)
	}
	if err := f.mutate(); err != nil {
		return nil, err
	}
	result := &Result{Inputs: d.inputs, Ranges: p.ranges()}
	objects := len(d.objects)
	for n, i := range f.items {
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
	result.Digest, err = result.ComputeDigest()
	return result, err
}

// finisher is the work on one Result.
type finisher struct {
	plan   *plan
	scopes *scopes
	items  []item // objects, then those of hooks
	hooks  []Hook // of the items behind the objects
	// most is how many bytes mutations may add, added is how many they have.
	most, added int64
}

// place sets the namespace that an object ends up in. The draft's object is not touched:
// what changes is copied.
func (f *finisher) place(i item) item {
	namespace := i.object.GetNamespace()
	wanted := ""
	if f.scopes.namespaced[i.object.GroupVersionKind().GroupKind()] {
		if wanted = namespace; wanted == "" {
			wanted = f.plan.namespace
		}
	}
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

// mutate applies the Release's mutations, in order, to all objects they match.
func (f *finisher) mutate() error {
	for _, m := range f.plan.mutations {
		matched := false
		for n, i := range f.items {
			if !m.Matches(i.object) {
				continue
			}
			matched = true
			mutated, err := m.Apply(i.object)
			if err != nil {
				return failure(corev1alpha1.ReasonRenderFailed, "mutation %q of %s (%s): %w", m.Name, manifest.Name(i.object.Object), i.origin, err)
			}
			if err := f.count(m, i.object, mutated); err != nil {
				return err
			}
			// A patch shares parts with the draft, which cleaning would change.
			document := manifest.Document{Object: mutated.DeepCopy(), Origin: i.origin}
			if err := manifest.Clean(&document); err != nil {
				return fmt.Errorf("after mutation %q: %w", m.Name, err)
			}
			i.object = document.Object
			f.items[n] = f.place(i)
		}
		if !matched && !m.Optional {
			return failure(corev1alpha1.ReasonRenderFailed,
				"mutation %q matches no object of the render; correct its target, or set optional: true", m.Name)
		}
	}
	return nil
}

// count refuses what mutations add beyond the limit, all objects together: each of them may be
// within the limits of one.
func (f *finisher) count(m *mutation.Mutation, before, after *unstructured.Unstructured) error {
	f.added += weight.Of(after.Object) - weight.Of(before.Object)
	if f.added > f.most {
		return limit.Of(limit.FlagBytes, "mutation %q and those before it add more than %s to the objects", m.Name, limit.Size(f.most))
	}
	return nil
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
