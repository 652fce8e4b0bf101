// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
)

// deletionPoll is how often objects are looked at that are being deleted, in case the
// observer does not tell first that they are gone.
const deletionPoll = 5 * time.Second

// prune deletes what left the render, in the reverse of the order of applying. It runs
// after everything that is desired was applied, and what is not gone yet stays in the
// inventory; deletions that are under way hold nothing up.
func (c *Controller) prune(ctx context.Context, s *scope) outcome {
	if !prunes(s.release) {
		return next()
	}
	stale, doubt := c.withoutMoving(ctx, s, s.stale())
	if doubt != "" {
		s.pruning = []string{doubt}
		s.wakeIn(deletionPoll)
		return next()
	}
	remove := s.applier.Prune
	if s.goesBack() {
		remove = s.applier.Revert
	}
	left, err := c.deleteWaves(ctx, s, stale, remove)
	switch {
	case err != nil:
		return fail(corev1alpha1.ConditionApplied, pruneReason(err), err)
	case len(left) > 0:
		s.pruning = left
		s.wakeIn(deletionPoll)
	}
	return next()
}

// remover removes the objects of entries as far as that goes now.
type remover func(ctx context.Context, entries []corev1alpha1.InventoryEntry) []apply.PruneResult

// deleteWaves deletes the objects of entries in the reverse of the order of applying, as far as
// that goes now, and names what is waited for. What waits for objects of the Release holds none
// of them up: a stage of its own may have put a namespace behind what is in it.
func (c *Controller) deleteWaves(ctx context.Context, s *scope, entries []corev1alpha1.InventoryEntry, remove remover) (left []string, err error) {
	for _, wave := range inventory.Waves(entries) {
		going, held, err := c.deleteEntries(ctx, s, wave, remove)
		left = append(left, held...)
		if err != nil || len(going) > 0 {
			return append(going, left...), err
		}
	}
	return left, nil
}

// deleteEntries deletes the objects of entries at once, takes those that are gone, or are
// kept on purpose, off the inventory of the scope, and names those whose deletion is under
// way, and those that are held back by others of the Release. Its error is of the objects that
// cannot be deleted.
func (c *Controller) deleteEntries(ctx context.Context, s *scope, entries []corev1alpha1.InventoryEntry, remove remover) (left, held []string, err error) {
	var gone []corev1alpha1.InventoryEntry
	var handed, kept []string
	var failures []error
	for _, result := range remove(ctx, entries) {
		name := objectName(result.Entry.ObjectKey)
		switch {
		case result.Err != nil:
			failures = append(failures, fmt.Errorf("%s: %w", name, result.Err))
		case result.Kept && result.Heir.Name != "":
			gone = append(gone, result.Entry)
			handed = append(handed, name+": "+result.Message)
		case result.Kept:
			gone = append(gone, result.Entry)
			kept = append(kept, name+": "+result.Message)
		case result.Gone:
			gone = append(gone, result.Entry)
			s.changes.pruned++
		case result.Held:
			held = append(held, name+" ("+result.Message+")")
		case result.Message != "":
			left = append(left, name+" ("+result.Message+")")
		default:
			left = append(left, name)
		}
	}
	if len(gone) > 0 {
		s.setEntries(inventory.Without(s.entries(), gone...))
	}
	s.kept = append(s.kept, kept...)
	// Now: nobody will find these objects again, however the pass ends.
	c.tellAll(s, "HandedOver", handed)
	c.tellAll(s, "Kept", kept)
	if len(failures) > 0 {
		return nil, nil, pruneError(failures)
	}
	return left, held, nil
}

// pruneError names the first few failures; the first is the one that it wraps.
func pruneError(failures []error) error {
	if len(failures) == 1 {
		return fmt.Errorf("deleting %w", failures[0])
	}
	var texts []string
	for _, failure := range failures[1:] {
		texts = append(texts, failure.Error())
	}
	return fmt.Errorf("deleting %w; %s", failures[0], listed(texts, "; "))
}

// pruneReason is the reason of a failed deletion: what the error says, where it is more
// than that something failed.
func pruneReason(err error) string {
	if reason := apply.Reason(err); reason != corev1alpha1.ReasonApplyFailed {
		return reason
	}
	return corev1alpha1.ReasonPruneFailed
}
