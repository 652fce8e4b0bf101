// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/observer/internal/definition"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/observer"
	"kumodo.io/convoy/render"
)

// deletions are the objects of the inventory that left the render, last stage first, with what
// becomes of each.
func (s *Server) deletions(ctx context.Context, release *corev1alpha1.Release, target *observer.Target, want *desired.Desired) ([]corev1alpha1.ObjectPreview, error) {
	inventory, err := s.Host.Inventory(ctx, types.NamespacedName{Namespace: release.Namespace, Name: release.Name})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries := left(inventory.Entries(), want)
	result := make([]corev1alpha1.ObjectPreview, len(entries))
	var doomed []int
	for i, entry := range entries {
		if result[i] = deletion(release, want, entry); result[i].Action == corev1alpha1.ActionDelete {
			doomed = append(doomed, i)
		}
	}
	errs := make([]error, len(doomed))
	comparer, err := s.comparer(ctx, release, target)
	if err != nil {
		return nil, err
	}
	compare.Parallel(len(doomed), func(n int) {
		i := doomed[n]
		errs[n] = s.fate(ctx, release, comparer, entries[i], &result[i])
	})
	for _, err := range errs {
		if err != nil {
			return nil, target.Blame(err)
		}
	}
	s.moves(ctx, release, entries, result)
	slices.SortStableFunc(result, func(a, b corev1alpha1.ObjectPreview) int { return cmp.Compare(b.Stage, a.Stage) })
	return result, nil
}

// left are the entries of an inventory that are not in a render, the last first.
func left(entries []corev1alpha1.InventoryEntry, want *desired.Desired) []corev1alpha1.InventoryEntry {
	wanted := map[corev1alpha1.ObjectKey]bool{}
	for _, object := range want.Objects {
		wanted[unversioned(object.Key())] = true
	}
	for _, hook := range slices.Concat(want.Hooks, want.OtherHooks) {
		wanted[unversioned(hook.Object.Key())] = true
	}
	var gone []corev1alpha1.InventoryEntry
	for _, entry := range slices.Backward(entries) {
		if !wanted[unversioned(entry.ObjectKey)] && entry.Hook == "" {
			gone = append(gone, entry)
		}
	}
	return gone
}

// deletion tells what becomes of an object that left the render, by what the host knows.
func deletion(release *corev1alpha1.Release, want *desired.Desired, entry corev1alpha1.InventoryEntry) corev1alpha1.ObjectPreview {
	one := corev1alpha1.ObjectPreview{ObjectKey: entry.ObjectKey, Action: corev1alpha1.ActionUnchanged, Stage: entry.Stage}
	switch {
	case release.Spec.Sync.Prune != nil && !*release.Spec.Sync.Prune:
		one.Message = "left the render; kept, because spec.sync.prune is false"
	case entry.Keep:
		one.Message = "left the render; kept, because an annotation says so"
	case len(want.Objects) == 0 && !release.Spec.Sync.AllowEmpty:
		one.Message = "kept: the render is empty and spec.sync.allowEmpty is false"
	default:
		one.Action, one.Message = corev1alpha1.ActionDelete, "left the render"
	}
	return one
}

// fate tells what becomes of an object that would be deleted, by what the target has of it.
// The error is that of a target that does not answer; one that does not let the object be
// read says nothing against the deletion.
func (s *Server) fate(ctx context.Context, release *corev1alpha1.Release, comparer *compare.Comparer, entry corev1alpha1.InventoryEntry, one *corev1alpha1.ObjectPreview) error {
	live, served, err := comparer.Live(ctx, corev1alpha1.ObjectUID{ObjectKey: entry.ObjectKey, UID: entry.UID})
	switch {
	case apierrors.IsForbidden(err):
		one.Message += "; its present state may not be read"
	case err != nil:
		return err
	case !served:
		spare(one, "left the render; the cluster does not serve its kind any more")
	case live == nil:
		spare(one, "left the render; is gone already")
	default:
		if why := s.spared(ctx, release, entry, live); why != "" {
			spare(one, "left the render; "+why)
		}
	}
	return nil
}

func spare(one *corev1alpha1.ObjectPreview, message string) {
	one.Action, one.Message = corev1alpha1.ActionUnchanged, message
}

// spared says why a live object is not deleted, "" when it is.
func (s *Server) spared(ctx context.Context, release *corev1alpha1.Release, entry corev1alpha1.InventoryEntry, live *unstructured.Unstructured) string {
	annotations := live.GetAnnotations()
	own := corev1alpha1.ReleaseAnnotationValue(s.Host.Installation, release.Namespace, release.Name)
	owner, claimant := annotations[corev1alpha1.AnnotationRelease], annotations[corev1alpha1.AnnotationClaimedBy]
	claimed, _ := s.lists(ctx, claimant, entry.ObjectKey)
	switch {
	case owner == "":
		return "stays, because it is not marked as this Release's any more"
	case owner != own:
		return "stays, because it belongs to " + render.OwnerName(owner, s.Host.Installation) + " now"
	case entry.UID != "" && live.GetUID() != entry.UID:
		return "stays, because it is another object of its name"
	case claimed && claimant != own:
		return "moves to " + render.OwnerName(claimant, s.Host.Installation) + ", which waits for it"
	case compare.Protected(live):
		return "kept, because an annotation says so"
	case isDefinition(entry) && !release.Spec.Sync.PruneCRDs && annotations[corev1alpha1.AnnotationPrune] != corev1alpha1.PruneEnabled:
		return "kept, because deleting a CustomResourceDefinition deletes all its objects; spec.sync.pruneCRDs or its annotation " +
			corev1alpha1.AnnotationPrune + ": " + corev1alpha1.PruneEnabled + " allows it"
	}
	return ""
}

func isDefinition(entry corev1alpha1.InventoryEntry) bool {
	return entry.Group == definition.Kind.Group && entry.Kind == definition.Kind.Kind
}

// moves tells which of the objects that would be deleted move to another Release instead: one
// of the same source that goes with it by itself, and whose newest render has them.
func (s *Server) moves(ctx context.Context, release *corev1alpha1.Release, entries []corev1alpha1.InventoryEntry, result []corev1alpha1.ObjectPreview) {
	doomed := func(one corev1alpha1.ObjectPreview) bool { return one.Action == corev1alpha1.ActionDelete }
	if !slices.ContainsFunc(result, doomed) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, movesTimeout)
	defer cancel()
	for _, other := range s.kin(ctx, release) {
		newest, err := s.newest(ctx, other)
		var keys map[corev1alpha1.ObjectKey]bool
		if newest != nil {
			keys = declared(newest)
		}
		for i := range result {
			switch {
			case !doomed(result[i]):
			case err != nil:
				result[i].Message = fmt.Sprintf("left the render, unless Release %s takes it over, which cannot be told now: %v", other.Name, err)
			case keys[unversioned(entries[i].ObjectKey)]:
				spare(&result[i], "moves to Release "+other.Name+", and stays until that has taken it over")
			}
		}
	}
}
