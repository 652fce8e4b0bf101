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

// removeSpent deletes the objects of hooks that have served: those whose policy says so, in case
// that did not come to its end when they had (cleanUp), and Jobs that have a
// ttlSecondsAfterFinished, that long after their end was recorded. That field is not applied
// (runnable): the Job would be gone before its end is seen. What cannot be deleted now is no
// failure of the sync.
func (c *Controller) removeSpent(ctx context.Context, s *scope) outcome {
	if s.result == nil || s.release.Status.Lifecycle == nil {
		return next()
	}
	present := runOf(s.release, s.result.Digest)
	var spent []corev1alpha1.InventoryEntry
	for _, hook := range slices.Concat(s.result.Hooks, s.result.OtherHooks) {
		entry, ok := s.disposable(hook, present)
		if !ok {
			entry, ok = s.spentEntry(hook)
		}
		if ok {
			spent = append(spent, entry)
		}
	}
	c.removeEntries(ctx, s, spent)
	return next()
}

// spentEntry gives the inventory entry of a hook's Job whose time is over; it asks for a pass
// when that will be.
func (s *scope) spentEntry(hook render.Hook) (corev1alpha1.InventoryEntry, bool) {
	ttl, limited := timeToLive(hook.Object.Object)
	entry, status := s.lastRun(hook)
	if !limited || status == nil || status.FinishedAt == nil {
		return entry, false
	}
	left := untilFrom(status.FinishedAt.Time, ttl, s.now)
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
