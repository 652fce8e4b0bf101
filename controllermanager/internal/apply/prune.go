// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/internal/managed"
	"kumodo.io/convoy/render"
)

// helmPolicy is Helm's annotation that keeps an object, with the value helmKeep.
const (
	helmPolicy = "helm.sh/resource-policy"
	helmKeep   = "keep"
)

// PruneResult is what became of the object of one inventory entry.
type PruneResult struct {
	Entry corev1alpha1.InventoryEntry
	// Gone: the object does not exist, as a read just told, or its kind is served no more, or
	// it is the object of another entry, which stays.
	Gone bool
	// Kept: the object exists and stays, without marks of this Release: it is protected, or
	// it is not, or no longer, this Release's.
	Kept bool
	// Heir is the Release that the object belongs to now; with Kept.
	Heir types.NamespacedName
	// Held: the object is not deleted because of other objects in the inventory, which have to
	// go first.
	Held bool
	// Message says for people, without naming the object, why it is kept, or what the
	// removal waits for. Empty when it is simply gone.
	Message string
	// Err is why nothing could be done. Reason and Retryable classify it.
	Err error
}

// Done tells that the entry may leave the inventory.
func (r PruneResult) Done() bool { return r.Err == nil && (r.Gone || r.Kept) }

// Prune deletes the objects of entries that are still this Release's and not protected,
// and gives one result for each entry, in the same order. Objects of one call go at the
// same time: the order is the caller's, see inventory.Waves. Nothing is waited for: the
// result of an object that takes time to go is not Done, and the next call looks again.
//
// What runs Pods is gone when they are, so that what they need can go next. An object that
// another Release claims is given to it instead. A namespace is not deleted while the inventory
// has other objects in it, or others have claims or objects of their own, nor a
// CustomResourceDefinition without consent, or while there are custom resources of its kind.
// Where an object is kept, a namespace of this Release is kept too, for good: it gets the
// annotation convoy.kumodo.io/prune: disabled.
func (a *Applier) Prune(ctx context.Context, entries []corev1alpha1.InventoryEntry) []PruneResult {
	return a.pruneEach(ctx, entries, a.prune)
}

// Revert is Prune for a Release that goes back: what was there before the Release applied it first is
// kept.
func (a *Applier) Revert(ctx context.Context, entries []corev1alpha1.InventoryEntry) []PruneResult {
	return a.pruneEach(ctx, entries, func(ctx context.Context, client dynamic.ResourceInterface, e corev1alpha1.InventoryEntry, live *unstructured.Unstructured) (PruneResult, error) {
		why := ""
		if e.Adopted {
			why = "kept, because it was there before this Release took it over, which is rolled back or pinned"
		}
		return a.pruneUnless(ctx, client, e, live, why)
	})
}

func (a *Applier) pruneEach(ctx context.Context, entries []corev1alpha1.InventoryEntry, decide decider) []PruneResult {
	return a.remove(ctx, entries, func(ctx context.Context, e corev1alpha1.InventoryEntry, seen *unstructured.Unstructured) (PruneResult, error) {
		result, err := a.removeRead(ctx, e, seen, decide)
		// An heir next door keeps the namespace by itself, as long as it has the object.
		if err == nil && result.Kept && result.Heir.Namespace != a.options.Release.Namespace {
			err = a.protectNamespace(ctx, e.Namespace)
		}
		return result, err
	})
}

// Orphan takes this Release's marks off the objects of entries and leaves them in the
// cluster. The results are Kept, or Gone for what did not exist.
func (a *Applier) Orphan(ctx context.Context, entries []corev1alpha1.InventoryEntry) []PruneResult {
	return a.remove(ctx, entries, func(ctx context.Context, e corev1alpha1.InventoryEntry, seen *unstructured.Unstructured) (PruneResult, error) {
		return a.removeRead(ctx, e, seen, func(ctx context.Context, client dynamic.ResourceInterface, _ corev1alpha1.InventoryEntry, live *unstructured.Unstructured) (PruneResult, error) {
			return a.keep(ctx, client, live, "left in the cluster")
		})
	})
}

// decider decides about one object that was read and is this Release's. An outdated error
// makes it be asked again with the object as it is then.
type decider func(ctx context.Context, client dynamic.ResourceInterface, e corev1alpha1.InventoryEntry, live *unstructured.Unstructured) (PruneResult, error)

// remover removes the object of an entry; seen is the object as it was a moment ago, nil when
// that is not known.
type remover func(ctx context.Context, e corev1alpha1.InventoryEntry, seen *unstructured.Unstructured) (PruneResult, error)

func (a *Applier) remove(ctx context.Context, entries []corev1alpha1.InventoryEntry, do remover) []PruneResult {
	a.beginRemoval(entries)
	seen := a.survey(ctx, entries)
	results := make([]PruneResult, len(entries))
	a.each(len(entries), func(i int) {
		e := entries[i]
		results[i] = a.removeOne(ctx, e, func(ctx context.Context) (PruneResult, error) { return do(ctx, e, seen[inventory.Key(e)]) })
	})
	return results
}

func (a *Applier) removeOne(ctx context.Context, e corev1alpha1.InventoryEntry, do func(context.Context) (PruneResult, error)) (result PruneResult) {
	result.Entry = e
	defer recovered(ctx, &result.Err)
	if result.Err = ctx.Err(); result.Err != nil {
		return result
	}
	result, err := do(ctx)
	result.Entry = e
	if err != nil {
		result.Err = a.explain(err, e.ObjectKey)
	}
	if result.Done() {
		a.forget(e)
		klog.FromContext(ctx).V(4).Info("Removed object", "object", describe(e.ObjectKey), "kept", result.Kept, "message", result.Message)
	}
	return result
}

// removeRead hands the object on as it was seen, or is read; again when it changed meanwhile.
func (a *Applier) removeRead(ctx context.Context, e corev1alpha1.InventoryEntry, seen *unstructured.Unstructured, decide decider) (PruneResult, error) {
	mapping, err := a.servedMapping(ctx, e.ObjectKey)
	if meta.IsNoMatchError(err) {
		return PruneResult{Gone: true, Message: "the target cluster does not serve its kind any more"}, nil
	}
	if err != nil {
		return PruneResult{}, err
	}
	client := a.client(mapping, e.Namespace)
	for range maxReads {
		live := seen
		if seen = nil; live == nil {
			live, err = client.Get(ctx, e.Name, metav1.GetOptions{})
		}
		if absent(err) {
			return PruneResult{Gone: true}, nil
		}
		if err != nil {
			return PruneResult{}, err
		}
		result, err := a.removeLive(ctx, client, e, live, decide)
		if !outdated(err) {
			return result, err
		}
	}
	return PruneResult{Message: "changed whenever it was about to be removed; it is tried again"}, nil
}

// servedMapping finds the resource of an object in the version of its entry, or in another one
// that is served.
func (a *Applier) servedMapping(ctx context.Context, key corev1alpha1.ObjectKey) (*meta.RESTMapping, error) {
	mapping, err := a.mapping(ctx, key)
	if meta.IsNoMatchError(err) {
		key.Version = ""
		return a.mapping(ctx, key)
	}
	return mapping, err
}

func (a *Applier) removeLive(ctx context.Context, client dynamic.ResourceInterface, e corev1alpha1.InventoryEntry, live *unstructured.Unstructured, decide decider) (PruneResult, error) {
	if why := a.notOurs(e, live); why != "" {
		_, err := a.unclaim(ctx, client, live)
		if absent(err) {
			return PruneResult{Gone: true}, nil
		}
		heir, _ := a.neighbour(ownerOf(live))
		return PruneResult{Kept: err == nil, Heir: heir, Message: why}, err
	}
	if other, ok := a.renamed(e, live); ok {
		return PruneResult{Gone: true, Message: "is " + describe(other.ObjectKey) + " by now, which stays"}, nil
	}
	if live.GetUID() != e.UID {
		made, err := madeByConvoy(ctx, client, live)
		if err != nil {
			return PruneResult{Gone: absent(err)}, ignoreAbsent(err)
		}
		if !made {
			// Copied together with its marks, from a backup for instance: not what was applied.
			return a.keep(ctx, client, live, "was replaced by another object of its name, which stays")
		}
	}
	return decide(ctx, client, e, live)
}

// The marks of a Release.
var (
	ownerLabel = fieldpath.MakePathOrDie("metadata", "labels", corev1alpha1.LabelOwner)
	ownerMark  = fieldpath.MakePathOrDie("metadata", "annotations", corev1alpha1.AnnotationRelease)
)

// madeByConvoy tells whether the marks on an object of another UID than the inventory knows
// were written by convoy, and not copied: then it was made, made again or handed over, and the
// process died before it could note that, and it belongs to the Release.
func madeByConvoy(ctx context.Context, client dynamic.ResourceInterface, seen *unstructured.Unstructured) (bool, error) {
	live, err := client.Get(ctx, seen.GetName(), metav1.GetOptions{}) // what was listed has no managed fields
	if err != nil || live.GetUID() != seen.GetUID() {
		return false, err
	}
	written, err := managed.Written(live)
	return err == nil && written.Has(ownerLabel) && written.Has(ownerMark), err
}

func ignoreAbsent(err error) error {
	if absent(err) {
		return nil
	}
	return err
}

// notOurs says whose the object is when it is not this Release's.
func (a *Applier) notOurs(e corev1alpha1.InventoryEntry, live *unstructured.Unstructured) string {
	owner := ownerOf(live)
	switch {
	case owner == a.owner:
		return ""
	case owner != "":
		return "is owned by " + render.OwnerName(owner, a.options.Installation) + " now"
	case e.UID == "":
		return "was there before, and was never taken over"
	}
	return "is not marked as this Release's any more"
}

// renamed finds another entry for the same object, one that is not being removed too: some
// kinds are served in two groups.
func (a *Applier) renamed(e corev1alpha1.InventoryEntry, live *unstructured.Unstructured) (corev1alpha1.InventoryEntry, bool) {
	others := a.find(func(other corev1alpha1.InventoryEntry) bool {
		key := inventory.Key(other)
		return other.UID == live.GetUID() && key != inventory.Key(e) && !a.removing[key]
	})
	if len(others) == 0 {
		return corev1alpha1.InventoryEntry{}, false
	}
	return others[0], true
}

// prune deletes an object of this Release unless something speaks against it.
func (a *Applier) prune(ctx context.Context, client dynamic.ResourceInterface, e corev1alpha1.InventoryEntry, live *unstructured.Unstructured) (PruneResult, error) {
	return a.pruneUnless(ctx, client, e, live, "")
}

// pruneUnless is prune for an object that is kept, if nobody is to have it, when why says so.
func (a *Applier) pruneUnless(ctx context.Context, client dynamic.ResourceInterface, e corev1alpha1.InventoryEntry, live *unstructured.Unstructured, why string) (PruneResult, error) {
	if live.GetDeletionTimestamp() != nil {
		return PruneResult{Message: beingDeleted(live)}, nil
	}
	if heir, ok, err := a.heir(ctx, e, live); ok || err != nil {
		return a.handOver(ctx, client, live, heir, err)
	}
	if why := kept(live); why != "" {
		return a.keep(ctx, client, live, why)
	}
	if e.Keep {
		return a.keep(ctx, client, live, "kept, as its source asked")
	}
	if why != "" {
		return a.keep(ctx, client, live, why)
	}
	if result, held, err := a.heldBack(ctx, client, live); held || err != nil {
		return result, err
	}
	gone, err := a.delete(ctx, e.ObjectKey, live)
	if gone || err != nil {
		return PruneResult{Gone: gone}, err
	}
	return confirm(ctx, client, live)
}

// propagation is foreground for what runs Pods: it is gone only when they are. Their accounts,
// configuration and networks are theirs until then, and two runs of a hook never overlap.
func propagation(live *unstructured.Unstructured) metav1.DeletionPropagation {
	if runsPods[groupKind(live)] {
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// confirm reads whether a deleted object is gone already.
func confirm(ctx context.Context, client dynamic.ResourceInterface, deleted *unstructured.Unstructured) (PruneResult, error) {
	live, err := client.Get(ctx, deleted.GetName(), metav1.GetOptions{})
	switch {
	case absent(err):
		return PruneResult{Gone: true}, nil
	case err != nil:
		return PruneResult{}, err
	case live.GetUID() != deleted.GetUID():
		return PruneResult{Gone: true, Message: "deleted; somebody made another object of its name"}, nil
	}
	return PruneResult{Message: beingDeleted(live)}, nil
}

// kept says what protects an object from ever being deleted, "" when nothing does.
func kept(obj *unstructured.Unstructured) string {
	annotations := obj.GetAnnotations()
	switch {
	case annotations[corev1alpha1.AnnotationPrune] == corev1alpha1.PruneDisabled:
		return fmt.Sprintf("kept, as its annotation %s: %s says", corev1alpha1.AnnotationPrune, corev1alpha1.PruneDisabled)
	case strings.ToLower(strings.TrimSpace(annotations[helmPolicy])) == helmKeep: // as Helm reads it
		return fmt.Sprintf("kept, as its annotation %s: %s says", helmPolicy, helmKeep)
	}
	return ""
}

// keep takes the marks off an object and leaves it.
func (a *Applier) keep(ctx context.Context, client dynamic.ResourceInterface, live *unstructured.Unstructured, why string) (PruneResult, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": live.GetResourceVersion(),
		"labels":          map[string]any{corev1alpha1.LabelOwner: nil},
		"annotations":     map[string]any{corev1alpha1.AnnotationRelease: nil, corev1alpha1.AnnotationClaimedBy: nil},
	}})
	if err != nil {
		return PruneResult{}, fmt.Errorf("encoding the removal of marks: %w", err)
	}
	_, err = client.Patch(ctx, live.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: corev1alpha1.FieldManager})
	if absent(err) {
		return PruneResult{Gone: true}, nil
	}
	if err != nil {
		return PruneResult{}, err
	}
	return PruneResult{Kept: true, Message: why}, nil
}

// protectNamespace marks a namespace that is this Release's, or was and is another one's by now, as never
// to be deleted, because it holds an object that is kept and would go with it. That is known only now: the
// object leaves the inventory once this is done, and the namespace stays in it for longer.
func (a *Applier) protectNamespace(ctx context.Context, name string) error {
	key := corev1alpha1.ObjectKey{Version: "v1", Kind: namespaceKind.Kind, Name: name}
	entry := a.lookUp(key)
	if name == "" || entry.Name == "" {
		return nil
	}
	client, err := a.resource(ctx, key)
	if err != nil {
		return err
	}
	for range maxReads {
		var namespace *unstructured.Unstructured
		namespace, err = client.Get(ctx, name, metav1.GetOptions{})
		if err == nil && (!a.owns(namespace) && !a.gaveAway(entry, namespace) || namespace.GetAnnotations()[corev1alpha1.AnnotationPrune] == corev1alpha1.PruneDisabled) {
			return nil
		}
		if err == nil {
			_, err = patchMarks(ctx, client, namespace, map[string]any{corev1alpha1.AnnotationPrune: corev1alpha1.PruneDisabled}, nil)
		}
		if !outdated(err) {
			break
		}
	}
	if err != nil && !absent(err) {
		return fmt.Errorf("protecting namespace %q, in which the object is kept: %w", name, err)
	}
	return nil
}

// gaveAway tells whether an object that this Release had applied is another's of the installation by now.
func (a *Applier) gaveAway(e corev1alpha1.InventoryEntry, live *unstructured.Unstructured) bool {
	installation, _, _, ok := corev1alpha1.ParseReleaseAnnotation(ownerOf(live))
	return ok && installation == a.options.Installation && e.UID != "" && e.UID == live.GetUID()
}
