// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
)

const (
	// listPage is how many objects one answer has at most.
	listPage = 500
	// maxPages is how many answers a list of all objects of a kind in one namespace may have.
	maxPages = 200
)

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
		live, err := a.listed(ctx, at, entriesAt[at])
		if err != nil {
			klog.FromContext(ctx).V(3).Info("Objects could not be listed, and are read one by one", "kind", at.kind, "err", err)
		}
		for _, e := range entriesAt[at] {
			if live[e.Name] == nil {
				continue
			}
			if object, err := withMetadata(at.kind, live[e.Name]); err == nil {
				mu.Lock()
				seen[inventory.Key(e)] = object
				mu.Unlock()
			}
		}
	})
	return seen
}

// withMetadata gives an object of which only the metadata is known.
func withMetadata(kind schema.GroupVersionKind, object *metav1.PartialObjectMetadata) (*unstructured.Unstructured, error) {
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
		live, err := a.listed(ctx, places[i], entriesAt[places[i]])
		if err != nil {
			klog.FromContext(ctx).V(3).Info("Objects could not be listed, and are sent", "kind", places[i].kind, "err", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, e := range entriesAt[places[i]] {
			if object := live[e.Name]; object != nil && object.UID == e.UID && object.ResourceVersion == e.ResourceVersion {
				untouched[inventory.Key(e)] = true
			}
		}
	})
	return untouched
}

// listed lists the Release's objects of one kind and namespace, and gives those of the entries by
// their names. It reads no more pages than there are entries: what it has not found by then is read
// for less one by one. With an error it gives what it found before.
func (a *Applier) listed(ctx context.Context, at place, entries []corev1alpha1.InventoryEntry) (map[string]*metav1.PartialObjectMetadata, error) {
	missing := map[string]bool{}
	for _, e := range entries {
		missing[e.Name] = true
	}
	found := map[string]*metav1.PartialObjectMetadata{}
	for object, err := range a.list(ctx, at, a.ownObjects(), len(entries)) {
		if err != nil {
			return found, err
		}
		if missing[object.Name] {
			object.ManagedFields = nil
			found[object.Name] = object
			delete(missing, object.Name)
		}
		if len(missing) == 0 {
			break
		}
	}
	return found, nil
}

// ownObjects selects the objects that have the Release's label.
func (a *Applier) ownObjects() string {
	release := a.options.Release
	return corev1alpha1.LabelOwner + "=" + corev1alpha1.OwnerLabelValue(a.options.Installation, release.Namespace, release.Name)
}

// list gives the metadata of all objects of one kind and namespace that have certain labels, and
// an error at the end where there is one: a list that has more pages than some is one.
func (a *Applier) list(ctx context.Context, at place, selector string, pages int) iter.Seq2[*metav1.PartialObjectMetadata, error] {
	return func(yield func(*metav1.PartialObjectMetadata, error) bool) {
		mapping, err := a.target.Mapping(ctx, at.kind)
		if err != nil {
			yield(nil, err)
			return
		}
		var client metadata.ResourceInterface = a.target.Metadata().Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			client = a.target.Metadata().Resource(mapping.Resource).Namespace(at.namespace)
		}
		options := metav1.ListOptions{LabelSelector: selector, Limit: listPage}
		for range pages {
			list, err := client.List(ctx, options)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range list.Items {
				if !yield(&list.Items[i], nil) {
					return
				}
			}
			if options.Continue = list.Continue; options.Continue == "" {
				return
			}
		}
		yield(nil, fmt.Errorf("the list of all %s has not ended after %d pages of %d", at.kind.Kind, pages, listPage))
	}
}
