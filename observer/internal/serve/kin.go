// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/observer/internal/desired"
)

// movesTimeout bounds how long is looked for Releases that take objects over: what would be
// deleted is told in any case.
const movesTimeout = 15 * time.Second

// kin gives the other Releases on the Cluster of one that go with the same source object by
// themselves, by name.
func (s *Server) kin(ctx context.Context, release *corev1alpha1.Release) []*corev1alpha1.Release {
	own, ok := sources.ReferenceOf(release.Spec.Source)
	if !ok {
		return nil
	}
	all, err := s.Host.Neighbours(ctx, release)
	if err != nil {
		return nil
	}
	found := slices.DeleteFunc(all, func(other *corev1alpha1.Release) bool {
		reference, ok := sources.ReferenceOf(other.Spec.Source)
		return !ok || reference != own || other.Name == release.Name || !automatic(other)
	})
	slices.SortFunc(found, func(a, b *corev1alpha1.Release) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// automatic tells whether a Release goes with its source by itself.
func automatic(release *corev1alpha1.Release) bool {
	return release.DeletionTimestamp.IsZero() && !release.Spec.Suspend && release.Spec.Pin == nil &&
		release.Spec.Sync.Mode != corev1alpha1.SyncModeManual
}

// newest gives what another Release is about to have, or goes back to; nil when it has that already:
// then what it has bears its mark.
func (s *Server) newest(ctx context.Context, other *corev1alpha1.Release) (*desired.Desired, error) {
	other = other.DeepCopy()
	target, err := s.Host.Connect(ctx, other)
	if err != nil {
		return nil, err
	}
	found, err := s.Desired.At(ctx, other, target, "")
	if err != nil {
		return nil, err
	}
	if applied := other.Status.Applied; applied != nil && applied.Revision == found.Revision && applied.Generation == other.Generation {
		return nil, nil
	}
	if back := other.Status.Rollback; back != nil && back.Render != "" &&
		(found.Digest == back.Failed || back.FailedInputs != "" && found.Inputs == back.FailedInputs) {
		return s.Desired.Past(ctx, other, target, back.Revision, back.Render)
	}
	return found, nil
}

// declared are the objects of a render, in whatever version of their kind.
func declared(want *desired.Desired) map[corev1alpha1.ObjectKey]bool {
	keys := make(map[corev1alpha1.ObjectKey]bool, len(want.Objects))
	for _, object := range want.Objects {
		keys[unversioned(object.Key())] = true
	}
	return keys
}

// givenUp tells of the owner of an object that a Release declares, too, whether it has it no
// more, or is about to: it does not exist, does not list the object, is being deleted, or its
// newest render, which nothing but time keeps it from applying, does not have the object.
func (s *Server) givenUp(release *corev1alpha1.Release) func(ctx context.Context, owner string, key corev1alpha1.ObjectKey) bool {
	var newest compare.Once[string, map[corev1alpha1.ObjectKey]bool] // by the name of the Release
	return func(ctx context.Context, owner string, key corev1alpha1.ObjectKey) bool {
		installation, namespace, name, ok := corev1alpha1.ParseReleaseAnnotation(owner)
		if !ok || installation != s.Host.Installation {
			return false
		}
		other, err := s.Host.Release(ctx, types.NamespacedName{Namespace: namespace, Name: name})
		if err != nil {
			return apierrors.IsNotFound(err)
		}
		if has, known := s.lists(ctx, owner, key); known && !has || !other.DeletionTimestamp.IsZero() {
			return true
		}
		if namespace != release.Namespace || other.Spec.ClusterRef != release.Spec.ClusterRef || !goesOn(other) {
			return false
		}
		keys := newest.Get(name, func() map[corev1alpha1.ObjectKey]bool { return s.newestDeclared(ctx, other.DeepCopy()) })
		return keys != nil && !keys[unversioned(key)]
	}
}

// newestDeclared are the objects of the newest render of a Release; nil when it cannot be told which.
func (s *Server) newestDeclared(ctx context.Context, release *corev1alpha1.Release) map[corev1alpha1.ObjectKey]bool {
	ctx, cancel := context.WithTimeout(ctx, movesTimeout)
	defer cancel()
	target, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil
	}
	newest, err := s.Desired.At(ctx, release, target, "")
	if err != nil {
		return nil
	}
	return declared(newest)
}

// goesOn tells whether nothing but time keeps a Release from applying its newest revision.
// Where there are windows, nobody here knows.
func goesOn(release *corev1alpha1.Release) bool {
	gated := release.Spec.Lifecycle != nil && len(release.Spec.Lifecycle.Gates) > 0
	return automatic(release) && release.Status.Rollback == nil && !gated && len(release.Spec.Sync.Windows) == 0
}

// lists tells whether the inventory of the Release that a mark names has an object; known is
// false where there is no such inventory.
func (s *Server) lists(ctx context.Context, mark string, key corev1alpha1.ObjectKey) (has, known bool) {
	_, namespace, name, _ := corev1alpha1.ParseReleaseAnnotation(mark)
	inventory, err := s.Host.Inventory(ctx, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return false, false
	}
	return slices.ContainsFunc(inventory.Entries(), func(entry corev1alpha1.InventoryEntry) bool {
		return unversioned(entry.ObjectKey) == unversioned(key)
	}), true
}
