// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// heldBack gives the result for an object that is not deleted because others would go
// with it; held is false for one that may be.
func (a *Applier) heldBack(ctx context.Context, client dynamic.ResourceInterface, live *unstructured.Unstructured) (result PruneResult, held bool, err error) {
	switch groupKind(live) {
	case namespaceKind:
		result, held, err = a.namespaceHeldBack(ctx, client, live)
	case definitionKind:
		result, held, err = a.definitionHeldBack(ctx, client, live)
	case volumeKind:
		result, held, err = a.volumeHeldBack(ctx, client, live)
	}
	return result, held, err
}

// volumeHeldBack keeps a volume while a claim is bound to it that this Release does not have:
// it would be gone with the claim from then on, whatever its reclaim policy is, and until then
// the Release would wait for it.
func (a *Applier) volumeHeldBack(ctx context.Context, client dynamic.ResourceInterface, volume *unstructured.Unstructured) (PruneResult, bool, error) {
	phase, _, _ := unstructured.NestedString(volume.Object, "status", "phase")
	namespace, _, _ := unstructured.NestedString(volume.Object, "spec", "claimRef", "namespace")
	name, _, _ := unstructured.NestedString(volume.Object, "spec", "claimRef", "name")
	uid, _, _ := unstructured.NestedString(volume.Object, "spec", "claimRef", "uid")
	if phase != "Bound" || deletionAllowed(volume) {
		return PruneResult{}, false, nil
	}
	key := corev1alpha1.ObjectKey{Version: "v1", Kind: claimKind.Kind, Namespace: namespace, Name: name}
	if entry := a.lookUp(key); entry.Name != "" {
		result, held := waitsFor([]corev1alpha1.InventoryEntry{entry}, "a claim of this Release is bound to it")
		return result, held, nil
	}
	claims, err := a.resource(ctx, key)
	if err != nil {
		return PruneResult{}, false, err
	}
	claim, err := claims.Get(ctx, name, metav1.GetOptions{})
	switch {
	case absent(err):
		return PruneResult{}, false, nil
	case err != nil:
		return PruneResult{}, false, fmt.Errorf("looking for the claim that is bound to the volume: %w", err)
	case string(claim.GetUID()) != uid:
		return PruneResult{}, false, nil
	}
	goes, err := a.goesByItself(ctx, claim)
	if goes || err != nil {
		return PruneResult{Message: "not deleted until " + describe(key) + ", which is bound to it, is gone"}, true, err
	}
	result, err := a.keep(ctx, client, volume, fmt.Sprintf(
		"kept, because %s is bound to it, which is not this Release's: delete the volume by hand; its annotation %s: %s would have allowed it",
		describe(key), corev1alpha1.AnnotationPrune, corev1alpha1.PruneEnabled))
	return result, true, err
}

// namespaceHeldBack makes a namespace wait for the objects of this Release in it, and keeps
// it while another Release has some, or there is data of others: they would go with it.
func (a *Applier) namespaceHeldBack(ctx context.Context, client dynamic.ResourceInterface, namespace *unstructured.Unstructured) (PruneResult, bool, error) {
	inside := a.find(func(e corev1alpha1.InventoryEntry) bool { return e.Namespace == namespace.GetName() })
	if result, held := waitsFor(inside, "objects of this Release are in it"); held {
		return result, true, nil
	}
	if a.options.Others != nil {
		if other, key, ok := a.options.Others.Inside(namespace.GetName()); ok {
			result, err := a.keep(ctx, client, namespace, objectsInside("Release "+other.String(), key))
			return result, true, err
		}
		owner, key, err := a.tenant(ctx, namespace.GetName())
		if err != nil {
			return PruneResult{}, false, fmt.Errorf("looking for objects of other Releases in the namespace, which would be deleted with it: %w", err)
		}
		if owner != "" {
			result, err := a.keep(ctx, client, namespace, objectsInside(render.OwnerName(owner, a.options.Installation), key))
			return result, true, err
		}
	}
	if deletionAllowed(namespace) {
		return PruneResult{}, false, nil
	}
	return a.claimsHoldBack(ctx, client, namespace)
}

func objectsInside(owner string, key corev1alpha1.ObjectKey) string {
	return fmt.Sprintf("kept, because objects of %s are in it, such as %s", owner, describe(key))
}

// tenant finds an object in a namespace that bears another Release's mark, and gives the mark;
// "" when there is none. Such a Release may know the cluster by another name, so that only the
// cluster can tell.
func (a *Applier) tenant(ctx context.Context, namespace string) (owner string, key corev1alpha1.ObjectKey, err error) {
	kinds, err := a.options.Others.Kinds(ctx, namespace)
	if err != nil {
		return "", key, err
	}
	for _, kind := range kinds {
		for object, err := range a.list(ctx, place{kind, namespace}, corev1alpha1.LabelOwner, maxPages) {
			switch {
			case meta.IsNoMatchError(err):
				continue
			case err != nil:
				return "", key, err
			}
			if mark := ownerOf(object); mark != "" && mark != a.owner && object.DeletionTimestamp == nil {
				return mark, corev1alpha1.ObjectKey{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: namespace, Name: object.Name}, nil
			}
		}
	}
	return "", corev1alpha1.ObjectKey{}, nil
}

// claimsHoldBack keeps a namespace while there are claims in it that this Release does not
// have, such as those of a StatefulSet: they stay when the StatefulSet goes, and would not with
// the namespace. Those that are about to go by themselves are waited for.
func (a *Applier) claimsHoldBack(ctx context.Context, client dynamic.ResourceInterface, namespace *unstructured.Unstructured) (PruneResult, bool, error) {
	going := ""
	at := place{claimKind.WithVersion("v1"), namespace.GetName()}
	for object, err := range a.list(ctx, at, "", maxPages) {
		if meta.IsNoMatchError(err) {
			return PruneResult{}, false, nil
		}
		if err != nil {
			return PruneResult{}, false, fmt.Errorf("looking for PersistentVolumeClaims in the namespace, which would be deleted with it: %w", err)
		}
		claim, err := withMetadata(at.kind, object)
		if err != nil {
			return PruneResult{}, false, err
		}
		name := describe(corev1alpha1.ObjectKey{Kind: claimKind.Kind, Namespace: claim.GetNamespace(), Name: claim.GetName()})
		goes, err := a.goesByItself(ctx, claim)
		if err != nil {
			return PruneResult{}, false, err
		}
		if goes {
			going = name
			continue
		}
		result, err := a.keep(ctx, client, namespace, fmt.Sprintf(
			"kept, because %s is in it, which is not this Release's, and would be deleted with it: delete the namespace by hand; its annotation %s: %s would have allowed it",
			name, corev1alpha1.AnnotationPrune, corev1alpha1.PruneEnabled))
		return result, true, err
	}
	if going != "" {
		return PruneResult{Message: "not deleted until " + going + " is gone"}, true, nil
	}
	return PruneResult{}, false, nil
}

// goesByItself tells whether an object is being deleted, or about to be collected, because all
// of its owners are gone.
func (a *Applier) goesByItself(ctx context.Context, obj *unstructured.Unstructured) (bool, error) {
	if obj.GetDeletionTimestamp() != nil {
		return true, nil
	}
	for _, owner := range obj.GetOwnerReferences() {
		api, err := schema.ParseGroupVersion(owner.APIVersion)
		if err != nil {
			return false, nil // nobody can tell
		}
		client, err := a.resource(ctx, corev1alpha1.ObjectKey{Group: api.Group, Version: api.Version, Kind: owner.Kind, Namespace: obj.GetNamespace()})
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		live, err := client.Get(ctx, owner.Name, metav1.GetOptions{})
		switch {
		case absent(err):
		case err != nil:
			return false, fmt.Errorf("looking for the owner of %s %s: %w", obj.GetKind(), obj.GetName(), err)
		case live.GetUID() == owner.UID:
			return false, nil
		}
	}
	return len(obj.GetOwnerReferences()) > 0, nil
}

// definitionHeldBack keeps a definition without the consent of people, and while custom
// resources exist that this Release does not have. It makes it wait for those that it has.
func (a *Applier) definitionHeldBack(ctx context.Context, client dynamic.ResourceInterface, crd *unstructured.Unstructured) (PruneResult, bool, error) {
	if !a.options.Release.Spec.Sync.PruneCRDs && !deletionAllowed(crd) {
		result, err := a.keep(ctx, client, crd, fmt.Sprintf(
			"kept, because deleting a CustomResourceDefinition deletes all its objects; spec.sync.pruneCRDs or its annotation %s: %s allows it",
			corev1alpha1.AnnotationPrune, corev1alpha1.PruneEnabled))
		return result, true, err
	}
	kind, d := definitionOf(crd)
	ours := a.find(func(e corev1alpha1.InventoryEntry) bool { return e.Group == kind.Group && e.Kind == kind.Kind })
	if result, held := waitsFor(ours, "custom resources of this Release exist"); held {
		return result, true, nil
	}
	if len(d.versions) == 0 && !deletionAllowed(crd) {
		result, err := a.keep(ctx, client, crd, fmt.Sprintf(
			"kept, because it serves no version in which its custom resources could be looked for; its annotation %s: %s allows it",
			corev1alpha1.AnnotationPrune, corev1alpha1.PruneEnabled))
		return result, true, err
	}
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	unread := ""
	for _, version := range d.versions {
		resource := schema.GroupVersionResource{Group: kind.Group, Version: version, Resource: plural}
		list, err := a.target.Dynamic().Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if (absent(err) || notServed(err)) && says(crd, "Established", "") {
			return PruneResult{Message: "not deleted until its custom resources can be looked for, which are not served at the moment"}, true, nil
		}
		if absent(err) || notServed(err) {
			continue // it never was
		}
		if err != nil && unconverted(err) {
			unread = version // there are some then, stored in another one
			continue
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
	if unread != "" {
		result, err := a.keep(ctx, client, crd, "kept, because there are custom resources that this Release does not have, and that nothing converts to "+unread+" any more")
		return result, true, err
	}
	return PruneResult{}, false, nil
}

// unconverted tells the answer of a server that has custom resources in another version than is asked for,
// and whose webhook does not convert them.
func unconverted(err error) bool {
	return statusOf(err).Code >= http.StatusInternalServerError && strings.Contains(err.Error(), "conversion webhook for ")
}

// deletionAllowed tells the consent of people to what goes with an object.
func deletionAllowed(live *unstructured.Unstructured) bool {
	return live.GetAnnotations()[corev1alpha1.AnnotationPrune] == corev1alpha1.PruneEnabled
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
	return PruneResult{Held: true, Message: fmt.Sprintf("not deleted while %s: %s", because, first(names))}, true
}
