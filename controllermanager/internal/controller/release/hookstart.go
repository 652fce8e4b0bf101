// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// startHook applies the object of a hook. What an earlier run left is deleted first, and
// waited for.
func (c *Controller) startHook(ctx context.Context, s *scope, hook render.Hook) outcome {
	ready, out := c.clearWay(ctx, s, hook)
	if !ready {
		return out
	}
	_, known := s.entryOf(hook)
	ahead := corev1alpha1.InventoryEntry{ObjectKey: hook.Object.Key(), Stage: hook.Object.Stage, Hook: hook.Name, Keep: hook.Object.Keep}
	if err := c.writeEntries(ctx, s, inventory.Record(s.entries(), ahead), ""); err != nil {
		return abort(err)
	}
	if !known {
		s.noteAhead(inventory.Key(ahead))
	}
	object := runnable(hook, s.run, s.hookLimit(hook))
	result := s.applier.Apply(ctx, []render.Object{object})[0]
	if !identityRefused(result.Err) {
		delete(s.ahead, inventory.Key(ahead))
	}
	if result.Err != nil {
		return c.hookNotStarted(ctx, s, hook, result)
	}
	s.setEntries(inventory.Record(s.entries(), entryOf(object, result, hook.Name)))
	c.started(s, hook, result)
	return next()
}

// hookNotStarted is the outcome of a hook whose object could not be applied: the sync
// failed, and is tried again as a whole.
func (c *Controller) hookNotStarted(ctx context.Context, s *scope, hook render.Hook, result apply.Result) outcome {
	s.takeBack([]apply.Result{result})
	out := fail(corev1alpha1.ConditionApplied, apply.Reason(result.Err), fmt.Errorf("%s: %w", hookText(hook, ""), result.Err))
	out.soon = apply.Retryable(result.Err)
	return out
}

// started notes the run in the status. An object that does not run has done its work.
func (c *Controller) started(s *scope, hook render.Hook, result apply.Result) {
	now := metav1.NewTime(s.now)
	status := corev1alpha1.HookStatus{
		Name: hook.Name, On: hook.On, Run: s.run, Phase: corev1alpha1.HookRunning, StartedAt: &now,
		Object: &corev1alpha1.ObjectUID{ObjectKey: hook.Object.Key(), UID: result.UID},
	}
	if passive(hook.Object.Key()) {
		status.Phase, status.FinishedAt = corev1alpha1.HookSucceeded, &now
	}
	s.setHookStatus(status)
}

func passive(key corev1alpha1.ObjectKey) bool {
	return apply.Passive(schema.GroupKind{Group: key.Group, Kind: key.Kind})
}

// annotationRun on a hook's object is the run that it was made for: it tells a process
// that died between making it and noting it apart from one that has yet to make it.
const annotationRun = "convoy.kumodo.io/hook-run"

// runnable gives a hook's object as it is applied: marked with its run, without a time after
// which it removes itself, since its end has to be seen, and, where it runs to an end, with a
// time after which the target stops it. That holds when nobody is there to stop it, too.
func runnable(hook render.Hook, run string, limit time.Duration) render.Object {
	object := hook.Object
	content := object.Object.DeepCopy()
	annotations := content.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationRun] = run
	content.SetAnnotations(annotations)
	kind := content.GroupVersionKind().GroupKind()
	if spec, ok := content.Object["spec"].(map[string]any); ok && (kind == jobKind || kind == podKind) {
		delete(spec, "ttlSecondsAfterFinished")
		seconds := int64((limit + time.Second - 1) / time.Second)
		if own, ok := spec["activeDeadlineSeconds"].(int64); !ok || own > seconds {
			spec["activeDeadlineSeconds"] = seconds
		}
	}
	object.Object = content
	return object
}

// clearWay deletes what an earlier run of the hook left, unless its object does not run
// and is applied over. It is not ready while that takes time.
func (c *Controller) clearWay(ctx context.Context, s *scope, hook render.Hook) (ready bool, out outcome) {
	entry, ok := s.entryOf(hook)
	if !ok || passive(hook.Object.Key()) {
		return true, outcome{}
	}
	adopted, err := c.madeForRun(ctx, s, hook)
	if err != nil {
		return false, fail(corev1alpha1.ConditionApplied, apply.Reason(err), fmt.Errorf("%s: %w", hookText(hook, ""), err))
	}
	if adopted {
		return true, outcome{} // applying it again changes nothing
	}
	left, err := c.deleteWaves(ctx, s, []corev1alpha1.InventoryEntry{entry})
	switch {
	case err != nil:
		return false, fail(corev1alpha1.ConditionApplied, pruneReason(err), fmt.Errorf("%s, from its last run: %w", hookText(hook, ""), err))
	case len(left) > 0:
		return false, waitUnderWay(corev1alpha1.ReasonWaitingForHook,
			fmt.Sprintf("waiting for the object of the last run of %s to be gone", hookText(hook, "")), time.Second)
	}
	return true, outcome{}
}

func (s *scope) entryOf(hook render.Hook) (corev1alpha1.InventoryEntry, bool) {
	key := inventory.KeyOf(hook.Object.Key())
	for _, entry := range s.entries() {
		if inventory.Key(entry) == key {
			return entry, true
		}
	}
	return corev1alpha1.InventoryEntry{}, false
}

// madeForRun tells whether the live object of a hook was made for the scope's run.
func (c *Controller) madeForRun(ctx context.Context, s *scope, hook render.Hook) (bool, error) {
	live, err := readLive(ctx, s.target, hook.Object.Key())
	if err != nil || live == nil {
		return false, err
	}
	return live.GetDeletionTimestamp() == nil && live.GetAnnotations()[annotationRun] == s.run, nil
}

// cleanUp deletes the object of a hook that has ended, where its policy says so. Its
// failure is no failure of the sync: what stays is deleted before the next run.
func (c *Controller) cleanUp(ctx context.Context, s *scope, hook render.Hook, phase corev1alpha1.HookPhase) {
	policy := corev1alpha1.HookDeleteSucceeded
	if phase == corev1alpha1.HookFailed {
		policy = corev1alpha1.HookDeleteFailed
	}
	entry, ok := s.entryOf(hook)
	if !ok || !slices.Contains(hook.DeletePolicy, policy) {
		return
	}
	if left, err := c.deleteWaves(ctx, s, []corev1alpha1.InventoryEntry{entry}); err != nil || len(left) > 0 {
		s.wakeIn(deletionPoll)
	}
}
