// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// noteStrays puts runs of hooks on record that are on none and are not of the present desired state:
// whoever started them died before that could be noted, and something else is to be done now. From
// then on they are runs that something else took the place of, and are ended as such. At which point
// they run is not known any more, so that they are ended at the first one.
//
// The inventory names their objects, since it did before they were made.
func (c *Controller) noteStrays(ctx context.Context, s *scope) outcome {
	for _, entry := range s.entries() {
		if entry.Hook == "" || lasting(entry.ObjectKey) || s.onRecord(entry.UID) || s.hookStatus(entry.Hook) != nil {
			continue // the present run makes way itself when it comes to a hook
		}
		live, err := lookUp(ctx, s.target, entry.ObjectKey)
		if err != nil && (meta.IsNoMatchError(err) || !ofConnection(err) && !apply.Retryable(err)) {
			continue // what may not be looked at holds nothing up
		}
		if err != nil {
			text := fmt.Sprintf("hook %s (%s), of which it is not known whether it runs", entry.Hook, objectName(entry.ObjectKey))
			out := fail(corev1alpha1.ConditionApplied, apply.Reason(err), fmt.Errorf("looking at %s: %w", text, err))
			out.soon = apply.Retryable(err)
			return out
		}
		if live == nil || s.onRecord(live.GetUID()) || !s.strays(entry, live) {
			continue
		}
		entry.UID = live.GetUID()
		s.setEntries(inventory.Record(s.entries(), entry))
		started := live.GetCreationTimestamp()
		s.setHookStatus(corev1alpha1.HookStatus{
			Name: entry.Hook, On: corev1alpha1.HookPreSync, Run: suffixSuperseded, Phase: corev1alpha1.HookRunning, StartedAt: &started,
			Object: &corev1alpha1.ObjectUID{ObjectKey: entry.ObjectKey, UID: entry.UID},
		})
	}
	return next()
}

// onRecord tells whether the status knows of the run that an object is of.
func (s *scope) onRecord(uid types.UID) bool {
	lifecycle := s.release.Status.Lifecycle
	return uid != "" && lifecycle != nil && slices.ContainsFunc(lifecycle.Hooks, func(status corev1alpha1.HookStatus) bool {
		return status.Object != nil && status.Object.UID == uid
	})
}

// strays tells whether an object is of a run of the entry's hook that goes on, and is not the present
// one. An object that does not tell its end is taken for running only if nobody has noted that it was
// made: else its run was on record, and is over.
func (s *scope) strays(entry corev1alpha1.InventoryEntry, live *unstructured.Unstructured) bool {
	mark := live.GetAnnotations()[apply.AnnotationHookRun]
	if !strings.HasPrefix(mark, entry.Hook+"/") || mark == s.runMark(render.Hook{Name: entry.Hook}) ||
		entry.UID != "" && entry.UID != live.GetUID() {
		return false
	}
	if apply.Ends(live) {
		phase, _, _ := apply.RunEnd(live)
		return phase == corev1alpha1.HookRunning
	}
	return entry.UID == "" && !entry.Keep
}

// endSyncHooks ends what hooks of a sync still run when the Release is being deleted, and waits until
// it is gone, no longer than such a hook may take: a migration does not run beside the backup, nor
// while what it works on is deleted.
func (c *Controller) endSyncHooks(ctx context.Context, s *scope) outcome {
	s.run = deleteRun
	if out := c.noteStrays(ctx, s); out.kind != proceeds {
		return ofDeletion(out)
	}
	if s.release.Status.Lifecycle == nil {
		return next()
	}
	for i := range s.release.Status.Lifecycle.Hooks {
		status := &s.release.Status.Lifecycle.Hooks[i]
		if deletes(status.On) || status.Phase != corev1alpha1.HookRunning {
			continue
		}
		message := "ended, because the Release is being deleted"
		if entry, ok := s.madeBy(status); ok && !lasting(entry.ObjectKey) {
			out := c.endRun(ctx, s, status, entry, "for a sync, before anything is deleted")
			switch {
			case out.kind != proceeds && (ofConnection(out.err) || !s.waitedEnough(status)):
				return ofDeletion(out)
			case out.kind != proceeds:
				message = fmt.Sprintf("was not gone within %s when the Release was deleted (%s)", s.limitOf(status), out.message)
				s.notices = append(s.notices, notice{warning: true, reason: corev1alpha1.ReasonHookFailed, message: fmt.Sprintf(
					"%s hook %s %s", status.On, objectName(entry.ObjectKey), message)})
			}
		}
		status.Phase, status.FinishedAt, status.Message = corev1alpha1.HookFailed, &metav1.Time{Time: s.now}, shorten(message)
	}
	return next()
}

// ofDeletion has an outcome of a hook speak of the deletion.
func ofDeletion(out outcome) outcome {
	if out.condition != "" {
		out.condition = corev1alpha1.ConditionReady
	}
	return out
}
