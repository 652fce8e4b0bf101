// SPDX-License-Identifier: Apache-2.0

// Package resource is what the storages of all kinds have in common: strategies, tables and
// the storages of status and of parts of an object. A package per kind beside it says what
// is peculiar to the kind.
package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Object is a pointer to the Go type of a kind.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kind describes a kind to its storage.
type Kind[P Object] struct {
	GroupVersion schema.GroupVersion
	// Name of the kind, its resource in plural and singular, and its short names.
	Name, Plural, Singular string
	ShortNames             []string
	ClusterScoped          bool
	New                    func() P
	NewList                func() runtime.Object
	Parts                  Parts[P]

	// Default writes defaults; nil for a kind without.
	Default func(P)
	// Label sets the shard label; nil for a kind that has none.
	Label func(context.Context, P)
	// Sign sets what else the server sets in the metadata, by who writes and what was there
	// before; old is nil for a new object. Signed are the paths. Both nil for a kind without.
	Sign   func(ctx context.Context, obj, old P)
	Signed []fieldpath.Path
	// Validate checks name and spec, those of an update if the spec changed; old is nil for a new object.
	Validate func(ctx context.Context, obj, old P) field.ErrorList
	// ValidateUpdate checks what may not change; nil when everything may.
	ValidateUpdate func(obj, old P) field.ErrorList
	// ValidateStatus checks a status that is written through /status.
	ValidateStatus func(P) field.ErrorList
	// Warnings are told to a client that writes a spec; nil for a kind without.
	Warnings func(P) []string

	// Selectable are the fields for field selectors, besides metadata.name and
	// metadata.namespace.
	Selectable map[string]func(P) string
	// Columns of a table, between the name and the age.
	Columns []Column[P]
}

// GroupResource of the kind.
func (k *Kind[P]) GroupResource() schema.GroupResource {
	return k.GroupVersion.WithResource(k.Plural).GroupResource()
}

// Parts gives access to spec and status of a kind.
type Parts[P Object] struct {
	// SameSpec compares two specs, nil and empty being the same.
	SameSpec func(a, b P) bool
	// TakeSpec sets the spec to that of another object, sharing what it points to.
	TakeSpec func(to, from P)
	// TakeStatus does so with the status.
	TakeStatus func(to, from P)
	// ClearStatus empties the status.
	ClearStatus func(P)
}

// PartsOf builds Parts from the two fields.
func PartsOf[P Object, Spec, Status any](spec func(P) *Spec, status func(P) *Status) Parts[P] {
	return Parts[P]{
		SameSpec:    func(a, b P) bool { return equality.Semantic.DeepEqual(spec(a), spec(b)) },
		TakeSpec:    func(to, from P) { *spec(to) = *spec(from) },
		TakeStatus:  func(to, from P) { *status(to) = *status(from) },
		ClearStatus: func(obj P) { *status(obj) = *new(Status) },
	}
}
