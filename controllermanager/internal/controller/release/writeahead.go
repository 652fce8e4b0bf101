// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
)

// annotationRequest on a ReleaseInventory is the mark of the request for a sync whose
// objects were made due in it. It is written together with the entries, so that a sync
// that goes on after its process died sends what is left, and nothing twice.
const annotationRequest = "convoy.kumodo.io/sync-request"

// validate refuses what cannot be applied before anything is written, the objects of hooks
// included: a sync must not come to a stop at its last hook for what could be seen before.
func (c *Controller) validate(ctx context.Context, s *scope) outcome {
	if len(s.unapplied()) == 0 && !s.fresh() && s.request.force == "" {
		return next()
	}
	objects := slices.Clone(s.result.Objects)
	for _, hook := range s.result.Hooks {
		objects = append(objects, hook.Object)
	}
	if err := s.applier.Validate(ctx, objects); err != nil {
		return fail(corev1alpha1.ConditionApplied, apply.Reason(err), err)
	}
	ahead := inventory.Union(s.entries(), inventory.FromObjects(s.result.Objects, slices.Concat(s.result.Hooks, s.result.OtherHooks)))
	if _, err := inventory.Paginate(s.present(), ahead); err != nil {
		return fail(corev1alpha1.ConditionApplied, corev1alpha1.ReasonInvalidObjects, err)
	}
	return next()
}

// writeAhead brings everything into the inventory that is about to be created, next to
// what is there, and makes due what is to be sent.
func (c *Controller) writeAhead(ctx context.Context, s *scope) outcome {
	if !slices.Contains(s.release.Finalizers, corev1alpha1.FinalizerRelease) {
		finalizers := append(slices.Clone(s.release.Finalizers), corev1alpha1.FinalizerRelease)
		if err := c.patchFinalizers(ctx, s, finalizers); err != nil {
			return abort(err)
		}
	}
	s.noteStart()
	if s.request.force == "" && !s.requestWrittenAhead() && s.sameSpec() {
		s.untouched = s.applier.Untouched(ctx, s.objectEntries())
	}
	entries := s.aheadEntries()
	// A request that has nothing sent needs no mark: nothing could be sent twice.
	if s.inventory != nil && slices.Equal(entries, s.entries()) && (s.requestWrittenAhead() || len(s.unapplied()) == 0) {
		return next()
	}
	for _, added := range inventory.Without(entries, s.entries()...) {
		s.noteAhead(inventory.Key(added))
	}
	if err := c.writeEntries(ctx, s, entries, s.request.mark()); err != nil {
		return abort(err)
	}
	return next()
}

// noteAhead notes that this pass brought an entry into the inventory.
func (s *scope) noteAhead(key string) {
	if s.ahead == nil {
		s.ahead = map[string]bool{}
	}
	s.ahead[key] = true
}

// takeBack takes entries off the inventory that this pass wrote ahead and whose objects
// certainly do not exist: it did not get as far as sending them, or the target refused the
// Release's identity. Nothing is left to be removed then, if the Release is deleted, with
// an identity that can remove nothing.
func (s *scope) takeBack(failures []apply.Result) {
	if len(s.ahead) == 0 || !slices.ContainsFunc(failures, func(result apply.Result) bool { return identityRefused(result.Err) }) {
		return
	}
	s.setEntries(slices.DeleteFunc(slices.Clone(s.entries()), func(entry corev1alpha1.InventoryEntry) bool {
		return s.ahead[inventory.Key(entry)]
	}))
}

// identityRefused tells errors that the target gave before it looked at an object.
func identityRefused(err error) bool {
	return errors.Is(err, clusterconn.ErrForbidden) || errors.Is(err, clusterconn.ErrUnauthenticated)
}

// aheadEntries gives what the inventory must say before the first object is sent. An
// object that is to be sent has no digest, and neither has one that is to be pruned, so
// that nobody takes it for one in its desired state. A request has everything sent that is
// not known to be in the target as it was applied.
func (s *scope) aheadEntries() []corev1alpha1.InventoryEntry {
	desired := inventory.FromObjects(s.result.Objects, nil)
	resend := !s.requestWrittenAhead()
	digests := map[string]string{}
	for _, object := range s.result.Objects {
		digests[inventory.KeyOf(object.Key())] = object.Digest
	}
	entries := inventory.Union(s.entries(), desired)
	for i := range entries {
		entry := &entries[i]
		if entry.Hook == "" && (resend && !s.untouched[inventory.Key(*entry)] || entry.Digest != digests[inventory.Key(*entry)]) {
			entry.Digest, entry.ResourceVersion = "", ""
		}
		if entry.Hook == "" && entry.UID == "" {
			entry.Adopted = true // until it is known that the Release made it
		}
	}
	return entries
}

// requestWrittenAhead tells whether the objects of the pending request were made due
// already; true without a request.
func (s *scope) requestWrittenAhead() bool {
	return !s.request.pending() || s.inventory != nil && s.inventory.Annotations[annotationRequest] == s.request.mark()
}

// writtenAhead tells whether the inventory covers the render as it is now.
func (s *scope) writtenAhead() bool {
	return s.inventory != nil && s.requestWrittenAhead() && slices.Equal(s.aheadEntries(), s.entries())
}

// noteStart notes when the sync of this desired state began. The runs of its hooks are known by that
// (runMark), so that it stays.
func (s *scope) noteStart() {
	if s.sync().StartedAt == nil {
		s.sync().StartedAt = &metav1.Time{Time: s.now}
	}
}

// counted gives since when the time of the sync that is under way counts, which began at a time: not
// while nothing could be done, and nothing was seen of the target, and who asks gives it all its time.
func (s *scope) counted(began time.Time) time.Time {
	for _, later := range []time.Time{s.watchedSince, s.request.at()} {
		if later.After(began) && !later.After(s.now) {
			began = later
		}
	}
	return began
}

// overdue tells whether the sync takes longer than it may. It asks for a pass when that
// will be.
func (s *scope) overdue() bool {
	started := s.sync().StartedAt
	if started == nil {
		return false
	}
	left := untilFrom(s.counted(started.Time), timeout(s.release), s.now)
	if left > 0 {
		s.wakeIn(left + time.Second)
	}
	return left == 0
}
