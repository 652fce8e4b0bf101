// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// suffixSuperseded on the run of a hook makes it one of no desired state.
const suffixSuperseded = "/superseded"

// retireHooks is called when the sync of a desired state has begun. Runs of hooks for another one
// count for nothing from then on: should that come back, its hooks run again.
func (s *scope) retireHooks() {
	if s.release.Status.Lifecycle == nil {
		return
	}
	for i := range s.release.Status.Lifecycle.Hooks {
		status := &s.release.Status.Lifecycle.Hooks[i]
		if !deletes(status.On) && status.Run != s.run && !strings.HasSuffix(status.Run, suffixSuperseded) {
			status.Run += suffixSuperseded
		}
	}
}

// endSuperseded ends what hooks of a point still run for another desired state than the present
// one, whatever they are called, and waits until it is gone: a migration and the next one never run
// at the same time.
func (c *Controller) endSuperseded(ctx context.Context, s *scope, point corev1alpha1.HookPoint) outcome {
	if s.release.Status.Lifecycle == nil {
		return next()
	}
	for i := range s.release.Status.Lifecycle.Hooks {
		status := &s.release.Status.Lifecycle.Hooks[i]
		if status.On != point || status.Run == s.run || status.Phase != corev1alpha1.HookRunning {
			continue
		}
		if entry, ok := s.madeBy(status); ok && !lasting(entry.ObjectKey) {
			if out := c.endRun(ctx, s, status, entry, "for what was to be applied before"); out.kind != proceeds {
				return out
			}
		}
		status.Phase, status.FinishedAt = corev1alpha1.HookFailed, &metav1.Time{Time: s.now}
		status.Message = "ended, because something else is to be applied"
	}
	return next()
}

// endRun deletes the object of a run, as far as that goes now. what says what it runs for.
func (c *Controller) endRun(ctx context.Context, s *scope, status *corev1alpha1.HookStatus, entry corev1alpha1.InventoryEntry, what string) outcome {
	text := fmt.Sprintf("%s hook %s, which runs %s", status.On, objectName(entry.ObjectKey), what)
	_, err := s.applier.MakeWay(ctx, remains(entry.ObjectKey))
	if waiting, ok := errors.AsType[*apply.WaitingError](err); ok && !meta.IsNoMatchError(err) {
		return waitUnderWay(corev1alpha1.ReasonWaitingForHook, fmt.Sprintf("ending %s: %v", text, waiting), deletionPoll)
	}
	if _, theirs := errors.AsType[*apply.OwnershipError](err); err != nil && !theirs && !meta.IsNoMatchError(err) {
		out := fail(corev1alpha1.ConditionApplied, apply.Reason(err), fmt.Errorf("ending %s: %w", text, err))
		out.soon = apply.Retryable(err)
		return out
	}
	if s.result == nil || !declares(s.result, entry.ObjectKey) { // else it was written ahead, too
		s.setEntries(inventory.Without(s.entries(), entry))
	}
	return next()
}

// madeBy gives the inventory entry of the object of a run; ok is false when it is that of another
// run, or of none, by now.
func (s *scope) madeBy(status *corev1alpha1.HookStatus) (corev1alpha1.InventoryEntry, bool) {
	for _, entry := range s.entries() {
		if status.Object != nil && entry.Hook != "" && entry.UID == status.Object.UID && inventory.Key(entry) == inventory.KeyOf(status.Object.ObjectKey) {
			return entry, true
		}
	}
	return corev1alpha1.InventoryEntry{}, false
}

// remains is an object of which only the key is known, and which was made for no run.
func remains(key corev1alpha1.ObjectKey) render.Object {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(key.GroupVersionKind())
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.SetAnnotations(map[string]string{apply.AnnotationHookRun: suffixSuperseded})
	return render.Object{Object: object}
}
