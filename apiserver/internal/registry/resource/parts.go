// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// StatusStrategy is how a status is updated: nothing else changes, but for the shard label,
// which every write sets.
type StatusStrategy[P Object] struct {
	Strategy[P]
}

// PrepareForUpdate keeps everything but the status.
func (s StatusStrategy[P]) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	updated, stored := obj.(P), old.(P)
	updated.GetObjectKind().SetGroupVersionKind(stored.GetObjectKind().GroupVersionKind())
	s.kind.Parts.TakeSpec(updated, stored)
	metav1.ResetObjectMetaForStatus(updated, stored)
	if s.kind.Label != nil {
		s.kind.Label(ctx, updated)
	}
}

// ValidateUpdate checks the status.
func (s StatusStrategy[P]) ValidateUpdate(_ context.Context, obj, _ runtime.Object) field.ErrorList {
	return s.kind.ValidateStatus(obj.(P))
}

// WarningsOnUpdate has nothing to say about a status.
func (StatusStrategy[P]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// GetResetFields names the fields that a write of the status does not reach.
func (s StatusStrategy[P]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.kind.fields(fieldpath.NewSet(
		fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec")))
}

// Part is a field of an object that has a subresource of its own, as a narrower permission
// for the same field.
type Part[P Object] struct {
	// Path of the field, for example spec, pin.
	Path []string
	// Take sets the field to that of another object.
	Take func(to, from P)
	// Finish completes the field with what is the server's to say, after it was taken from
	// the request; nil when there is nothing.
	Finish func(ctx context.Context, obj, old P)
	// Validate checks what the request made of the field, besides what is checked of the
	// whole object; nil when there is nothing.
	Validate func(obj, old P) field.ErrorList
	// InStatus is true for a field of the status.
	InStatus bool
}

// PartStrategy is how a Part is updated: nothing else changes, but for the shard label and
// the generation.
type PartStrategy[P Object] struct {
	Strategy[P]
	part Part[P]
}

// NewPartStrategy gives the strategy of a part of a kind.
func NewPartStrategy[P Object](kind *Kind[P], typer runtime.ObjectTyper, p Part[P]) PartStrategy[P] {
	return PartStrategy[P]{Strategy: NewStrategy(kind, typer), part: p}
}

// PrepareForUpdate keeps everything but the part.
func (s PartStrategy[P]) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	updated, stored := obj.(P), old.(P)
	sent := updated.DeepCopyObject().(P)
	kept := stored.DeepCopyObject().(P)
	updated.GetObjectKind().SetGroupVersionKind(stored.GetObjectKind().GroupVersionKind())
	s.kind.Parts.TakeSpec(updated, kept)
	s.kind.Parts.TakeStatus(updated, kept)
	metav1.ResetObjectMetaForStatus(updated, stored)
	s.part.Take(updated, sent)
	if s.part.Finish != nil {
		s.part.Finish(ctx, updated, stored)
	}
	s.setOwn(ctx, updated)
	s.raiseGeneration(updated, stored)
}

// ValidateUpdate checks the object as a whole if a part of its spec changed, else its status.
func (s PartStrategy[P]) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	var errs field.ErrorList
	if s.part.Validate != nil {
		errs = s.part.Validate(obj.(P), old.(P))
	}
	if s.part.InStatus {
		return append(errs, s.kind.ValidateStatus(obj.(P))...)
	}
	return append(errs, s.Strategy.ValidateUpdate(ctx, obj, old)...)
}

// WarningsOnUpdate has nothing to say: warnings about the rest of the object are not for
// who writes a part of it.
func (PartStrategy[P]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// filter says which fields a write of the part reaches: those under its path.
func (s PartStrategy[P]) filter() map[fieldpath.APIVersion]fieldpath.Filter {
	path := make([]any, len(s.part.Path))
	for i, element := range s.part.Path {
		path[i] = element
	}
	return map[fieldpath.APIVersion]fieldpath.Filter{
		fieldpath.APIVersion(s.kind.GroupVersion.String()): fieldpath.NewIncludeMatcherFilter(
			fieldpath.MakePrefixMatcherOrDie(path...)),
	}
}
