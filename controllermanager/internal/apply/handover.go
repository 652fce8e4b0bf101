// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Standing is what a Release has to do with an object that bears its mark or its claim.
type Standing int

const (
	// Holds: the Release has the object in its inventory, and nothing says that it will not
	// go on having it; or it is the object of one of its hooks, which does not move.
	Holds Standing = iota
	// Leaves: it has it in its inventory, and is about to have it no more: it is being
	// deleted, or its next sync, which nothing holds up, does not bring the object.
	Leaves
	// Absent: there is no such Release, or its inventory does not have the object.
	Absent
)

// Others tells of the other Releases of an installation.
type Others interface {
	// Standing tells what a Release has to do with an object. That it is Absent is true of
	// the host as it was after the call began: an object's mark that was read before is not
	// that of an apply that has only just begun.
	Standing(ctx context.Context, release types.NamespacedName, key corev1alpha1.ObjectKey) (Standing, error)
	// Owner names another Release on the same cluster that has applied this very object.
	Owner(key corev1alpha1.ObjectKey, uid types.UID) (types.NamespacedName, bool)
	// Inside names another Release on the same cluster with an object in a namespace.
	Inside(namespace string) (types.NamespacedName, corev1alpha1.ObjectKey, bool)
	// Kinds are those of all objects that Releases have in namespaces of a name, on whatever
	// cluster: two Clusters may be the same one.
	Kinds(ctx context.Context, namespace string) ([]schema.GroupVersionKind, error)
}

// neighbour gives the Release that a mark or a claim names, when it is of this installation.
func (a *Applier) neighbour(mark string) (types.NamespacedName, bool) {
	installation, namespace, name, ok := corev1alpha1.ParseReleaseAnnotation(mark)
	if !ok || installation != a.options.Installation || mark == a.owner || a.options.Others == nil {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, true
}

// givenUp tells whether the Release whose mark an object bears has it no more, or will not
// have it any more in a moment.
func (d *delivery) givenUp(ctx context.Context, owner string) (bool, error) {
	other, ok := d.neighbour(owner)
	if !ok {
		return false, nil
	}
	standing, err := d.options.Others.Standing(ctx, other, d.key)
	if err != nil {
		return false, fmt.Errorf("looking whether Release %s still has the object: %w", other, err)
	}
	return standing != Holds, nil
}

// claim says on an object of another Release that this one waits for it. It is said on the
// object because that is where both Releases meet: the one that gives it away and the one
// that takes its claim back write under the resourceVersion that they read, so that neither
// can act on what the other has just changed. claimed is false where it cannot be said, and
// where another Release said it first.
func (d *delivery) claim(ctx context.Context, live *unstructured.Unstructured) (claimed bool, err error) {
	if _, ok := d.neighbour(ownerOf(live)); !ok {
		return false, nil
	}
	present := live.GetAnnotations()[corev1alpha1.AnnotationClaimedBy]
	if present == d.owner {
		return true, nil
	}
	if other, ok := d.neighbour(present); ok {
		standing, err := d.options.Others.Standing(ctx, other, d.key)
		if err != nil || standing == Holds {
			return false, err
		}
	}
	_, err = patchMarks(ctx, d.client, live, map[string]any{corev1alpha1.AnnotationClaimedBy: d.owner}, nil)
	if outdated(err) {
		return false, err
	}
	return err == nil, nil
}

// unclaim takes this Release's claim off an object, and gives it as it is then.
func (a *Applier) unclaim(ctx context.Context, client dynamic.ResourceInterface, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if live.GetAnnotations()[corev1alpha1.AnnotationClaimedBy] != a.owner {
		return live, nil
	}
	return patchMarks(ctx, client, live, map[string]any{corev1alpha1.AnnotationClaimedBy: nil}, nil)
}

// heir finds the Release that an object goes to instead of being deleted: one that claims it
// and has it in its inventory, or one that has applied it already, before an apply of this
// Release that had begun earlier brought this one's marks back.
func (a *Applier) heir(ctx context.Context, e corev1alpha1.InventoryEntry, live *unstructured.Unstructured) (types.NamespacedName, bool, error) {
	if a.options.Others == nil {
		return types.NamespacedName{}, false, nil
	}
	if other, ok := a.neighbour(live.GetAnnotations()[corev1alpha1.AnnotationClaimedBy]); ok {
		standing, err := a.options.Others.Standing(ctx, other, e.ObjectKey)
		if err != nil {
			return other, false, fmt.Errorf("looking whether Release %s still claims the object: %w", other, err)
		}
		if standing == Holds {
			return other, true, nil
		}
	}
	other, ok := a.options.Others.Owner(e.ObjectKey, live.GetUID())
	return other, ok, nil
}

// handOver gives an object to its heir by replacing this Release's marks with the heir's.
// Whoever dies now leaves an object whose mark and inventory agree: the heir has had it in
// its inventory since before it claimed it, and this Release finds that it is another's.
func (a *Applier) handOver(ctx context.Context, client dynamic.ResourceInterface, live *unstructured.Unstructured, heir types.NamespacedName, err error) (PruneResult, error) {
	if err != nil {
		return PruneResult{}, err
	}
	_, err = patchMarks(ctx, client, live, map[string]any{
		corev1alpha1.AnnotationRelease:   corev1alpha1.ReleaseAnnotationValue(a.options.Installation, heir.Namespace, heir.Name),
		corev1alpha1.AnnotationClaimedBy: nil,
	}, map[string]any{
		corev1alpha1.LabelOwner: corev1alpha1.OwnerLabelValue(a.options.Installation, heir.Namespace, heir.Name),
	})
	if absent(err) {
		return PruneResult{Gone: true}, nil
	}
	if err != nil {
		return PruneResult{}, err
	}
	return PruneResult{Kept: true, Heir: heir, Message: "handed over to Release " + heir.String()}, nil
}

// patchMarks changes annotations and labels of an object at the resourceVersion that was read.
func patchMarks(ctx context.Context, client dynamic.ResourceInterface, live *unstructured.Unstructured, annotations, labels map[string]any) (*unstructured.Unstructured, error) {
	metadata := map[string]any{"resourceVersion": live.GetResourceVersion(), "annotations": annotations}
	if labels != nil {
		metadata["labels"] = labels
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encoding a change of marks: %w", err)
	}
	return client.Patch(ctx, live.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: corev1alpha1.FieldManager})
}
