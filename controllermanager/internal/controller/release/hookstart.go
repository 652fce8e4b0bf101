// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// startHook applies the object of a hook. What an earlier run left is deleted first, and
// waited for, unless the object does not run and is applied over.
func (c *Controller) startHook(ctx context.Context, s *scope, hook render.Hook) outcome {
	object := runnable(hook, s.runMark(hook), s.hookLimit(hook))
	_, known := s.entryOf(hook)
	if !lasting(hook.Object.Key()) {
		vacant, err := s.applier.MakeWay(ctx, object)
		if err != nil {
			return c.hookNotStarted(s, hook, err)
		}
		known = known && !vacant
	}
	ahead := corev1alpha1.InventoryEntry{ObjectKey: hook.Object.Key(), Stage: hook.Object.Stage, Hook: hook.Name, Keep: hook.Object.Keep}
	if err := c.writeEntries(ctx, s, inventory.Record(s.entries(), ahead), ""); err != nil {
		return abort(err)
	}
	if !known {
		s.noteAhead(inventory.Key(ahead))
	}
	result := s.applier.Apply(ctx, []render.Object{object})[0]
	if !identityRefused(result.Err) {
		delete(s.ahead, inventory.Key(ahead))
	}
	if result.Err != nil {
		return c.hookNotStarted(s, hook, result.Err)
	}
	s.setEntries(inventory.Record(s.entries(), entryOf(object, result, hook.Name)))
	c.started(s, hook, result)
	return next()
}

// hookNotStarted is the outcome of a hook whose object could not be applied: what ends by
// itself is waited for, else the sync failed, and is tried again as a whole.
func (c *Controller) hookNotStarted(s *scope, hook render.Hook, err error) outcome {
	s.takeBack([]apply.Result{{Key: hook.Object.Key(), Err: err}})
	if waiting, ok := errors.AsType[*apply.WaitingError](err); ok {
		why := waiting.Error()
		if meta.IsNoMatchError(err) {
			why += ": its definition has to be among the objects, or that of a hook that runs before"
		}
		return s.postpone(hook, why)
	}
	out := fail(corev1alpha1.ConditionApplied, apply.Reason(err), fmt.Errorf("%s: %w", hookText(hook, ""), err))
	out.soon = apply.Retryable(err)
	return out
}

// postpone waits with a hook that cannot be started yet, no longer than it may take. It is in
// the status since the first time, without an object.
func (s *scope) postpone(hook render.Hook, why string) outcome {
	if s.hookStatus(hook.Name) == nil {
		s.setHookStatus(corev1alpha1.HookStatus{
			Name: hook.Name, On: hook.On, Run: s.run, Phase: corev1alpha1.HookRunning, StartedAt: &metav1.Time{Time: s.now},
		})
	}
	status := s.hookStatus(hook.Name)
	status.Message = why
	s.expire(hook, status)
	if status.Phase != corev1alpha1.HookRunning {
		return next() // it has failed
	}
	return waitUnderWay(corev1alpha1.ReasonWaitingForHook, "waiting for "+hookText(hook, why), time.Second)
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

// lasting tells the kinds whose objects are never deleted for the next run of a hook: those
// that do not run, and those with which more would go.
func lasting(key corev1alpha1.ObjectKey) bool {
	_, irreplaceable := render.Irreplaceable(schema.GroupKind{Group: key.Group, Kind: key.Kind})
	return irreplaceable || passive(key)
}

// runMark is the mark on the object of a hook by which a process knows it as made for this run
// when the one that made it died before it noted that. Beside the hook, whose object may be that
// of another one too, it tells of the Release and of the sync: a desired state can come back, in
// another Release of the name or after another desired state, and its hooks run then.
func (s *scope) runMark(hook render.Hook) string {
	h := sha256.New()
	fmt.Fprintln(h, s.release.UID, s.run)
	if sync := s.before.Sync; sync != nil && sync.StartedAt != nil {
		fmt.Fprintln(h, "since", sync.StartedAt.Unix())
	}
	if applied := s.before.Applied; applied != nil {
		fmt.Fprintln(h, "after", applied.At.Unix())
	}
	return fmt.Sprintf("%s/%x", hook.Name, h.Sum(nil)[:8])
}

// runnable gives a hook's object as it is applied: marked with its run, without a time after
// which it removes itself, since its end has to be seen, and, where it runs to an end, with a
// time after which the target stops it. That holds when nobody is there to stop it, too.
func runnable(hook render.Hook, mark string, limit time.Duration) render.Object {
	object := hook.Object
	content := object.Object.DeepCopy()
	annotations := content.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[apply.AnnotationHookRun] = mark
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

func (s *scope) entryOf(hook render.Hook) (corev1alpha1.InventoryEntry, bool) {
	key := inventory.KeyOf(hook.Object.Key())
	for _, entry := range s.entries() {
		if inventory.Key(entry) == key {
			return entry, true
		}
	}
	return corev1alpha1.InventoryEntry{}, false
}
