// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kumodo.io/convoy/apiserver/internal/shardlabel"
	"kumodo.io/convoy/apiserver/internal/validation"
)

// Strategy is how the objects of a kind are created, updated and deleted.
type Strategy[P Object] struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind *Kind[P]
}

// NewStrategy gives the strategy of a kind.
func NewStrategy[P Object](kind *Kind[P], typer runtime.ObjectTyper) Strategy[P] {
	return Strategy[P]{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: kind}
}

// NamespaceScoped says whether objects live in a namespace.
func (s Strategy[P]) NamespaceScoped() bool { return !s.kind.ClusterScoped }

// AllowCreateOnUpdate is false: a PUT updates only.
func (Strategy[P]) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate is false: a PUT must name the resourceVersion it started from.
func (Strategy[P]) AllowUnconditionalUpdate(context.Context) bool { return false }

// Canonicalize does nothing; defaulting brings objects into one form before validation.
func (Strategy[P]) Canonicalize(runtime.Object) {}

// PrepareForCreate takes the status away, which is not the creator's to set, and sets what
// is the server's. Without kind and version an object decoded from JSON equals one that
// was built by a patch.
func (s Strategy[P]) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	created := obj.(P)
	created.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	s.kind.Parts.ClearStatus(created)
	created.SetGeneration(1)
	s.setOwn(ctx, created)
	if s.kind.Sign != nil {
		var none P
		s.kind.Sign(ctx, created, none)
	}
}

// Validate checks a new object.
func (s Strategy[P]) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	created := obj.(P)
	var none P
	return append(validation.ObjectMeta(created, !s.kind.ClusterScoped), s.kind.Validate(ctx, created, none)...)
}

// WarningsOnCreate tells of what is legal but suspicious.
func (s Strategy[P]) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	created := obj.(P)
	return append(validation.FinalizerWarnings(created, nil), s.warnings(created)...)
}

// PrepareForUpdate keeps the status and raises the generation with a changed spec. Kind and
// version are taken from the stored object: were they to differ, an update that changes
// nothing would be written nevertheless, again and again.
func (s Strategy[P]) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	updated, stored := obj.(P), old.(P)
	updated.GetObjectKind().SetGroupVersionKind(stored.GetObjectKind().GroupVersionKind())
	s.kind.Parts.TakeStatus(updated, stored)
	s.setOwn(ctx, updated)
	if s.kind.Sign != nil {
		s.kind.Sign(ctx, updated, stored)
	}
	s.raiseGeneration(updated, stored)
}

// ValidateUpdate checks what may not change, and the spec if it changed: an object that a
// stricter release of convoy would not accept any more can still lose its finalizer.
func (s Strategy[P]) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	updated, stored := obj.(P), old.(P)
	var errs field.ErrorList
	if s.kind.ValidateUpdate != nil {
		errs = s.kind.ValidateUpdate(updated, stored)
	}
	if s.kind.Parts.SameSpec(updated, stored) {
		return errs
	}
	return append(errs, s.kind.Validate(ctx, updated, stored)...)
}

// WarningsOnUpdate tells a client that changes the spec of what is legal but suspicious.
func (s Strategy[P]) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	updated, stored := obj.(P), old.(P)
	warnings := validation.FinalizerWarnings(updated, stored.GetFinalizers())
	if s.kind.Parts.SameSpec(updated, stored) {
		return warnings
	}
	return append(warnings, s.warnings(updated)...)
}

// GetResetFields names the fields that a client's write does not reach.
func (s Strategy[P]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	if s.kind.Label != nil {
		set.Insert(shardlabel.Path())
	}
	for _, path := range s.kind.Signed {
		set.Insert(path)
	}
	return s.kind.fields(set)
}

// setOwn sets what the server sets itself.
func (s Strategy[P]) setOwn(ctx context.Context, obj P) {
	if s.kind.Default != nil {
		s.kind.Default(obj)
	}
	if s.kind.Label != nil {
		s.kind.Label(ctx, obj)
	}
}

func (s Strategy[P]) raiseGeneration(updated, stored P) {
	if !s.kind.Parts.SameSpec(updated, stored) {
		updated.SetGeneration(stored.GetGeneration() + 1)
	}
}

func (s Strategy[P]) warnings(obj P) []string {
	if s.kind.Warnings == nil {
		return nil
	}
	return s.kind.Warnings(obj)
}

func (k *Kind[P]) fields(set *fieldpath.Set) map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(k.GroupVersion.String()): set}
}
