// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Untouched gives the keys of the entries whose objects nobody has written to since they were
// applied: they have the UID and the resourceVersion of their entry. It costs one list of
// metadata for each kind and namespace. What cannot be told, for want of the right to list or
// because of any other failure, is not among them.
func (a *Applier) Untouched(ctx context.Context, entries []corev1alpha1.InventoryEntry) map[string]bool {
	entriesAt := map[place][]corev1alpha1.InventoryEntry{}
	var places []place
	for _, e := range entries {
		if e.ResourceVersion == "" || e.UID == "" {
			continue
		}
		at := place{schema.GroupVersionKind{Group: e.Group, Version: e.Version, Kind: e.Kind}, e.Namespace}
		if entriesAt[at] == nil {
			places = append(places, at)
		}
		entriesAt[at] = append(entriesAt[at], e)
	}
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
	mapping, err := a.target.Mapping(ctx, at.kind)
	if err != nil {
		return nil, err
	}
	var client metadata.ResourceInterface = a.target.Metadata().Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = a.target.Metadata().Resource(mapping.Resource).Namespace(at.namespace)
	}
	release := a.options.Release
	options := metav1.ListOptions{
		LabelSelector: corev1alpha1.LabelOwner + "=" + corev1alpha1.OwnerLabelValue(a.options.Installation, release.Namespace, release.Name),
		Limit:         listPage,
	}
	live := map[string]version{}
	for {
		list, err := client.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, object := range list.Items {
			live[object.Name] = version{object.UID, object.ResourceVersion}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return live, nil
		}
	}
}
