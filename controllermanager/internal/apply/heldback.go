// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// heldBack gives the result for an object that is not deleted because others would go
// with it; held is false for one that may be.
func (a *Applier) heldBack(ctx context.Context, client dynamic.ResourceInterface, live *unstructured.Unstructured) (result PruneResult, held bool, err error) {
	switch groupKind(live) {
	case namespaceKind:
		result, held, err = a.namespaceHeldBack(ctx, client, live)
	case definitionKind:
		result, held, err = a.definitionHeldBack(ctx, client, live)
	}
	return result, held, err
}

// namespaceHeldBack makes a namespace wait for the objects of this Release in it, and keeps
// it while another Release has some: they would go with it.
func (a *Applier) namespaceHeldBack(ctx context.Context, client dynamic.ResourceInterface, namespace *unstructured.Unstructured) (PruneResult, bool, error) {
	inside := a.find(func(e corev1alpha1.InventoryEntry) bool { return e.Namespace == namespace.GetName() })
	if result, held := waitsFor(inside, "objects of this Release are in it"); held {
		return result, true, nil
	}
	if a.options.Others == nil {
		return PruneResult{}, false, nil
	}
	other, key, ok := a.options.Others.Inside(namespace.GetName())
	if !ok {
		return PruneResult{}, false, nil
	}
	result, err := a.keep(ctx, client, namespace, fmt.Sprintf("kept, because objects of Release %s are in it, such as %s", other, describe(key)))
	return result, true, err
}

// definitionHeldBack keeps a definition while custom resources exist that this Release
// does not have, and makes it wait for those that it has.
func (a *Applier) definitionHeldBack(ctx context.Context, client dynamic.ResourceInterface, crd *unstructured.Unstructured) (PruneResult, bool, error) {
	kind, d := definitionOf(crd)
	ours := a.find(func(e corev1alpha1.InventoryEntry) bool { return e.Group == kind.Group && e.Kind == kind.Kind })
	if result, held := waitsFor(ours, "custom resources of this Release exist"); held {
		return result, true, nil
	}
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	for _, version := range d.versions {
		resource := schema.GroupVersionResource{Group: kind.Group, Version: version, Resource: plural}
		list, err := a.target.Dynamic().Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if absent(err) || notServed(err) {
			continue // not established in this version
		}
		if err != nil {
			return PruneResult{}, false, fmt.Errorf("looking for custom resources of the definition: %w", err)
		}
		if len(list.Items) == 0 {
			return PruneResult{}, false, nil
		}
		result, err := a.keep(ctx, client, crd, "kept, because there are custom resources that this Release does not have, such as "+
			describe(corev1alpha1.ObjectKey{Group: kind.Group, Kind: kind.Kind, Namespace: list.Items[0].GetNamespace(), Name: list.Items[0].GetName()}))
		return result, true, err
	}
	return PruneResult{}, false, nil
}

// waitsFor gives the result for an object that has to stay while entries do.
func waitsFor(entries []corev1alpha1.InventoryEntry, because string) (PruneResult, bool) {
	if len(entries) == 0 {
		return PruneResult{}, false
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = describe(e.ObjectKey)
	}
	return PruneResult{Message: fmt.Sprintf("not deleted while %s: %s", because, first(names))}, true
}
