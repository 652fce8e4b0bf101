// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"slices"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// cleanUp deletes the objects of the hooks of a point, where their policy says so, once the
// point is over: until then other hooks may need them. Its failure is no failure of the sync:
// it is tried again with each pass, and what stays makes way for the next run.
func (c *Controller) cleanUp(ctx context.Context, s *scope, point corev1alpha1.HookPoint) {
	var spent []corev1alpha1.InventoryEntry
	for _, hook := range slices.Concat(s.result.Hooks, s.result.OtherHooks) {
		if entry, ok := s.disposable(hook, s.run); ok && hook.On == point {
			spent = append(spent, entry)
		}
	}
	c.removeEntries(ctx, s, spent)
}

// removeEntries deletes the objects of entries, as far as that goes now.
func (c *Controller) removeEntries(ctx context.Context, s *scope, entries []corev1alpha1.InventoryEntry) {
	if left, err := c.deleteWaves(ctx, s, entries, s.applier.Prune); err != nil || len(left) > 0 {
		s.wakeIn(deletionPoll)
	}
}

// disposable gives the inventory entry of a hook whose policy says that its object goes after
// such an end, when the run of its point is over. run is the present one.
func (s *scope) disposable(hook render.Hook, run string) (corev1alpha1.InventoryEntry, bool) {
	entry, status := s.lastRun(hook)
	if status == nil {
		return entry, false
	}
	policy := corev1alpha1.HookDeleteSucceeded
	switch status.Phase {
	case corev1alpha1.HookRunning:
		return entry, false
	case corev1alpha1.HookFailed:
		policy = corev1alpha1.HookDeleteFailed
	}
	return entry, slices.Contains(hook.DeletePolicy, policy) && s.over(hook.On, status.Run, run)
}

// lastRun gives the inventory entry of a hook's object together with what is on record of the run
// that it is of; nil when there is no such object.
func (s *scope) lastRun(hook render.Hook) (corev1alpha1.InventoryEntry, *corev1alpha1.HookStatus) {
	entry, ok := s.entryOf(hook)
	if !ok || entry.Hook != hook.Name || s.release.Status.Lifecycle == nil {
		return entry, nil
	}
	for i := range s.release.Status.Lifecycle.Hooks {
		status := &s.release.Status.Lifecycle.Hooks[i]
		if status.Name == hook.Name && status.Object != nil && status.Object.UID == entry.UID {
			return entry, status
		}
	}
	return entry, nil
}

// over tells whether a run of the hooks of a point is over: none of them runs, and of the
// present run, unless one has failed that stops the others, none is left to be started.
func (s *scope) over(point corev1alpha1.HookPoint, run, present string) bool {
	ended := map[string]*corev1alpha1.HookStatus{}
	for i := range s.release.Status.Lifecycle.Hooks {
		status := &s.release.Status.Lifecycle.Hooks[i]
		if status.On != point || status.Run != run {
			continue
		}
		if status.Phase == corev1alpha1.HookRunning {
			return false
		}
		ended[status.Name] = status
	}
	if run != present || !s.runsHooks(point) {
		return true
	}
	open := false
	for _, hook := range s.result.Hooks {
		if hook.On != point {
			continue
		}
		status := ended[hook.Name]
		if status != nil && stops(hook, status) {
			return true
		}
		open = open || status == nil
	}
	return !open
}
