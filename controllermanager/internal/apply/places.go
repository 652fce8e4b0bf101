// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
)

// listPage is how many objects one answer has at most.
const listPage = 500

// place is where objects of one kind are.
type place struct {
	kind      schema.GroupVersionKind
	namespace string
}

// byPlace sorts the entries that count by their places, which keep the order of the entries.
func byPlace(entries []corev1alpha1.InventoryEntry, counts func(corev1alpha1.InventoryEntry) bool) ([]place, map[place][]corev1alpha1.InventoryEntry) {
	at := map[place][]corev1alpha1.InventoryEntry{}
	var places []place
	for _, e := range entries {
		if !counts(e) {
			continue
		}
		here := place{e.GroupVersionKind(), e.Namespace}
		if at[here] == nil {
			places = append(places, here)
		}
		at[here] = append(at[here], e)
	}
	return places, at
}

// listFrom is how many objects of one place are worth a list of all that the Release has there,
// instead of a read for each.
const listFrom = 10

// wholeKinds are those of which more than the metadata decides what becomes of an object.
var wholeKinds = map[schema.GroupKind]bool{namespaceKind: true, definitionKind: true, volumeKind: true}

// survey reads the metadata of the objects of many entries, and gives it by inventory.Key. It
// costs one list for each kind and namespace with many of them. What is not found by that is
// to be read by itself: it may be gone, or without the label, or not be listed.
func (a *Applier) survey(ctx context.Context, entries []corev1alpha1.InventoryEntry) map[string]*unstructured.Unstructured {
	places, entriesAt := byPlace(entries, func(e corev1alpha1.InventoryEntry) bool {
		return !wholeKinds[e.GroupVersionKind().GroupKind()]
	})
	places = slices.DeleteFunc(places, func(at place) bool { return len(entriesAt[at]) < listFrom })
	seen := map[string]*unstructured.Unstructured{}
	var mu sync.Mutex
	a.each(len(places), func(i int) {
		at := places[i]
		live := map[string]*unstructured.Unstructured{}
		err := a.list(ctx, at, a.ownObjects(), func(object *metav1.PartialObjectMetadata) (err error) {
			live[object.Name], err = withMetadata(at.kind, object)
			return err
		})
		if err != nil {
			klog.FromContext(ctx).V(3).Info("Objects could not be listed, and are read one by one", "kind", at.kind, "err", err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, e := range entriesAt[at] {
			if object := live[e.Name]; object != nil {
				seen[inventory.Key(e)] = object
			}
		}
	})
	return seen
}

// withMetadata gives an object of which only the metadata is known, without what is not needed
// of that.
func withMetadata(kind schema.GroupVersionKind, object *metav1.PartialObjectMetadata) (*unstructured.Unstructured, error) {
	object.ManagedFields = nil
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	live := &unstructured.Unstructured{Object: content}
	live.SetGroupVersionKind(kind)
	return live, nil
}

// Untouched gives the keys of the entries whose objects nobody has written to since they were
// applied: they have the UID and the resourceVersion of their entry. It costs one list of
// metadata for each kind and namespace. What cannot be told, for want of the right to list or
// because of any other failure, is not among them.
func (a *Applier) Untouched(ctx context.Context, entries []corev1alpha1.InventoryEntry) map[string]bool {
	places, entriesAt := byPlace(entries, func(e corev1alpha1.InventoryEntry) bool { return e.ResourceVersion != "" && e.UID != "" })
	untouched := map[string]bool{}
	var mu sync.Mutex
	a.each(len(places), func(i int) {
		live, err := a.versions(ctx, places[i])
		if err != nil {
			klog.FromContext(ctx).V(3).Info("Objects could not be listed, and are sent", "kind", places[i].kind, "err", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, e := range entriesAt[places[i]] {
			if live[e.Name] == (version{e.UID, e.ResourceVersion}) {
				untouched[inventory.Key(e)] = true
			}
		}
	})
	return untouched
}

// version is an object as it was at one time.
type version struct {
	uid             types.UID
	resourceVersion string
}

// versions lists the Release's objects of one kind and namespace.
func (a *Applier) versions(ctx context.Context, at place) (map[string]version, error) {
	live := map[string]version{}
	err := a.list(ctx, at, a.ownObjects(), func(object *metav1.PartialObjectMetadata) error {
		live[object.Name] = version{object.UID, object.ResourceVersion}
		return nil
	})
	return live, err
}

// ownObjects selects the objects that have the Release's label.
func (a *Applier) ownObjects() string {
	release := a.options.Release
	return corev1alpha1.LabelOwner + "=" + corev1alpha1.OwnerLabelValue(a.options.Installation, release.Namespace, release.Name)
}

// list hands out the metadata of all objects of one kind and namespace that have certain
// labels.
func (a *Applier) list(ctx context.Context, at place, selector string, each func(*metav1.PartialObjectMetadata) error) error {
	mapping, err := a.target.Mapping(ctx, at.kind)
	if err != nil {
		return err
	}
	var client metadata.ResourceInterface = a.target.Metadata().Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = a.target.Metadata().Resource(mapping.Resource).Namespace(at.namespace)
	}
	options := metav1.ListOptions{LabelSelector: selector, Limit: listPage}
	for {
		list, err := client.List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := each(&list.Items[i]); err != nil {
				return err
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}
