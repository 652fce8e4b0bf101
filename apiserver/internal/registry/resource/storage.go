// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// category is what `kubectl get convoy` lists.
const category = "convoy"

// Backend is what every storage is built on.
type Backend struct {
	// Scheme of the server; storages add their field selectors to it.
	Scheme *runtime.Scheme
	// RESTOptions lead to etcd.
	RESTOptions generic.RESTOptionsGetter
	// Clock tells the time for ages and timestamps.
	Clock clock.PassiveClock
}

// REST is the storage of a kind.
type REST struct {
	*genericregistry.Store
	shortNames []string
	labels     labelUpdater
}

var (
	_ rest.StandardStorage    = &REST{}
	_ rest.ShortNamesProvider = &REST{}
	_ rest.CategoriesProvider = &REST{}
)

// ShortNames of the kind, for kubectl.
func (r *REST) ShortNames() []string { return r.shortNames }

// Categories of the kind, for kubectl.
func (*REST) Categories() []string { return []string{category} }

// Update changes an object, or creates it where the request may.
func (r *REST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, create bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return update(ctx, r.Store, name, info, createValidation, updateValidation, create, options)
}

// Create stores a new object.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	created, err := r.Store.Create(ctx, obj, validation, options)
	name := ""
	if accessor, failed := meta.Accessor(obj); failed == nil {
		name = accessor.GetName()
	}
	if err = tooLarge(r.DefaultQualifiedResource, name, created, options.DryRun, err); err != nil {
		return nil, err
	}
	return created, nil
}

// update changes an object of a store. Errors that libraries and etcd give without saying whose
// fault it is are told as what they are.
func update(ctx context.Context, store *genericregistry.Store, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, create bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	updated, created, err := store.Update(ctx, name, caught{info}, createValidation, updateValidation, create, options)
	if err = tooLarge(store.DefaultQualifiedResource, name, updated, options.DryRun, err); err != nil {
		return nil, false, err
	}
	return updated, created, nil
}

// NewStorage builds the storage of a kind and that of its status.
func NewStorage[P Object](kind *Kind[P], backend Backend) (*REST, *StatusREST, error) {
	if err := addFieldLabels(kind, backend.Scheme); err != nil {
		return nil, nil, fmt.Errorf("adding field selectors of %s: %w", kind.Plural, err)
	}
	strategy := NewStrategy(kind, backend.Scheme)
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return kind.New() },
		NewListFunc:               kind.NewList,
		DefaultQualifiedResource:  kind.GroupResource(),
		SingularQualifiedResource: kind.GroupVersion.WithResource(kind.Singular).GroupResource(),
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
		TableConvertor:            Table[P]{Columns: kind.Columns, Clock: backend.Clock},
	}
	options := &generic.StoreOptions{RESTOptions: backend.RESTOptions, AttrFunc: attributes(kind)}
	if err := store.CompleteWithOptions(options); err != nil {
		return nil, nil, fmt.Errorf("building the storage of %s: %w", kind.Plural, err)
	}
	status := StatusStrategy[P]{strategy}
	statusStore := *store
	statusStore.UpdateStrategy, statusStore.ResetFieldsStrategy = status, status
	whole := &REST{Store: store, shortNames: kind.ShortNames}
	if kind.Label != nil {
		whole.labels = labelUpdater{stale: kind.staleLabel, store: &statusStore}
	}
	return whole, &StatusREST{part{&statusStore}}, nil
}

// NewPartStorage builds the storage of a part of a kind on that of the whole.
func NewPartStorage[P Object](kind *Kind[P], whole *REST, p Part[P]) *PartREST {
	strategy := NewPartStrategy(kind, whole.UpdateStrategy, p)
	store := *whole.Store
	store.UpdateStrategy, store.ResetFieldsStrategy = strategy, nil
	return &PartREST{part: part{&store}, filter: strategy.filter()}
}

// part is a storage that gets and updates objects of a store of another resource.
type part struct {
	store *genericregistry.Store
}

// New gives an empty object.
func (p part) New() runtime.Object { return p.store.New() }

// Destroy does nothing: the store belongs to the storage of the whole.
func (part) Destroy() {}

// Get reads an object.
func (p part) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return p.store.Get(ctx, name, options)
}

// Update changes an object; it never creates one.
func (p part) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return update(ctx, p.store, name, info, createValidation, updateValidation, false, options)
}

// ConvertToTable prints an object.
func (p part) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return p.store.ConvertToTable(ctx, object, options)
}

// StatusREST is the storage of the status of a kind.
type StatusREST struct{ part }

var _ rest.Patcher = &StatusREST{}

// GetResetFields names the fields that a write does not reach.
func (r *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// PartREST is the storage of a part of a kind.
type PartREST struct {
	part
	filter map[fieldpath.APIVersion]fieldpath.Filter
}

var (
	_ rest.Patcher                   = &PartREST{}
	_ rest.ResetFieldsFilterStrategy = &PartREST{}
)

// GetResetFieldsFilter says which fields a write reaches.
func (r *PartREST) GetResetFieldsFilter() map[fieldpath.APIVersion]fieldpath.Filter { return r.filter }

// attributes gives what selectors select by.
func attributes[P Object](kind *Kind[P]) func(runtime.Object) (labels.Set, fields.Set, error) {
	return func(obj runtime.Object) (labels.Set, fields.Set, error) {
		item, ok := obj.(P)
		if !ok {
			return nil, nil, fmt.Errorf("a %T is no %s", obj, kind.Name)
		}
		set := make(fields.Set, len(kind.Selectable)+2)
		set["metadata.name"] = item.GetName()
		if !kind.ClusterScoped {
			set["metadata.namespace"] = item.GetNamespace()
		}
		for name, value := range kind.Selectable {
			set[name] = value(item)
		}
		return labels.Set(item.GetLabels()), set, nil
	}
}

// addFieldLabels lets clients use the selectable fields in field selectors.
func addFieldLabels[P Object](kind *Kind[P], scheme *runtime.Scheme) error {
	selectable := []string{"metadata.name"}
	if !kind.ClusterScoped {
		selectable = append(selectable, "metadata.namespace")
	}
	for name := range kind.Selectable {
		selectable = append(selectable, name)
	}
	slices.Sort(selectable)
	return scheme.AddFieldLabelConversionFunc(kind.GroupVersion.WithKind(kind.Name),
		func(label, value string) (string, string, error) {
			if !slices.Contains(selectable, label) {
				return "", "", fmt.Errorf("%q is not a known field selector: supported are %q", label, selectable)
			}
			return label, value, nil
		})
}
