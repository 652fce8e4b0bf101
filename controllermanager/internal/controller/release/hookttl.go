// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

var (
	jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}
	podKind = schema.GroupKind{Kind: "Pod"}
)

// removeSpent deletes the Jobs of hooks that have a ttlSecondsAfterFinished, that long after
// their end was recorded. The field is not applied (runnable): the Job would be gone before its
// end is seen. A Job that cannot be deleted now is no failure of the sync.
func (c *Controller) removeSpent(ctx context.Context, s *scope) outcome {
	if s.result == nil || s.release.Status.Lifecycle == nil {
		return next()
	}
	for _, hook := range slices.Concat(s.result.Hooks, s.result.OtherHooks) {
		spent, ok := s.spentEntry(hook)
		if !ok {
			continue
		}
		left, err := c.deleteWaves(ctx, s, []corev1alpha1.InventoryEntry{spent})
		if err != nil || len(left) > 0 {
			s.wakeIn(deletionPoll)
		}
	}
	return next()
}

// spentEntry gives the inventory entry of a hook's Job whose time is over; it asks for a pass
// when that will be.
func (s *scope) spentEntry(hook render.Hook) (corev1alpha1.InventoryEntry, bool) {
	ttl, limited := timeToLive(hook.Object.Object)
	entry, applied := s.entryOf(hook)
	if !limited || !applied || entry.Hook != hook.Name {
		return entry, false
	}
	i := slices.IndexFunc(s.release.Status.Lifecycle.Hooks, func(status corev1alpha1.HookStatus) bool {
		return status.Name == hook.Name && status.FinishedAt != nil && status.Object != nil && status.Object.UID == entry.UID
	})
	if i < 0 {
		return entry, false
	}
	left := untilFrom(s.release.Status.Lifecycle.Hooks[i].FinishedAt.Time, ttl, s.now)
	if left > 0 {
		s.wakeIn(left)
	}
	return entry, left == 0
}

// timeToLive gives the ttlSecondsAfterFinished of a Job.
func timeToLive(object *unstructured.Unstructured) (time.Duration, bool) {
	if object.GroupVersionKind().GroupKind() != jobKind {
		return 0, false
	}
	seconds, ok, _ := unstructured.NestedInt64(object.Object, "spec", "ttlSecondsAfterFinished")
	return time.Duration(seconds) * time.Second, ok
}
