// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// labelUpdater brings the shard labels of stored objects up to date. It is empty for a kind
// that has none.
type labelUpdater struct {
	stale func(ctx context.Context, obj runtime.Object) bool
	// store writes nothing of an object but its status, which is given unchanged, and the
	// label, which every write sets: defaults that an object was stored without stay away.
	store *genericregistry.Store
}

// Labelled says whether objects of the kind have a shard label.
func (r *REST) Labelled() bool { return r.labels.stale != nil }

// Stale tells whether a write would label the object otherwise than it is.
func (r *REST) Stale(ctx context.Context, obj runtime.Object) bool {
	object, err := meta.Accessor(obj)
	return err == nil && r.labels.stale(genericapirequest.WithNamespace(ctx, object.GetNamespace()), obj)
}

// Relabel writes the label and nothing else. An object that is gone is no error.
func (r *REST) Relabel(ctx context.Context, obj runtime.Object) error {
	object, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	unchanged := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		return old.DeepCopyObject(), nil
	}
	ctx = genericapirequest.WithNamespace(ctx, object.GetNamespace())
	_, _, err = r.labels.store.Update(ctx, object.GetName(), rest.DefaultUpdatedObjectInfo(nil, unchanged),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("labelling %s %s/%s: %w", r.DefaultQualifiedResource, object.GetNamespace(), object.GetName(), err)
	}
	return nil
}

// staleLabel labels a copy of no more than what a label depends on.
func (k *Kind[P]) staleLabel(ctx context.Context, obj runtime.Object) bool {
	stored, ok := obj.(P)
	if !ok {
		return false
	}
	fresh := k.New()
	fresh.SetNamespace(stored.GetNamespace())
	fresh.SetName(stored.GetName())
	fresh.SetLabels(stored.GetLabels())
	k.Parts.TakeSpec(fresh, stored)
	k.Label(ctx, fresh)
	return fresh.GetLabels()[corev1alpha1.LabelShard] != stored.GetLabels()[corev1alpha1.LabelShard]
}
