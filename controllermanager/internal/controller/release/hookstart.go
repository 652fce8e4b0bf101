// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/render"
)

// startHook applies the object of a hook. What an earlier run left is deleted first, and
// waited for, unless the object does not run and is applied over.
func (c *Controller) startHook(ctx context.Context, s *scope, hook render.Hook) outcome {
	object := runnable(hook, s.runMark(hook), s.hookLimit(hook))
	last, known := s.entryOf(hook)
	adopts := lasting(hook.Object.Key())
	if !adopts {
		vacant, err := s.applier.MakeWay(ctx, object)
		if err != nil {
			return c.hookNotStarted(ctx, s, hook, err)
		}
		known = known && !vacant
	}
	ahead := corev1alpha1.InventoryEntry{ObjectKey: hook.Object.Key(), Stage: hook.Object.Stage, Hook: hook.Name, Keep: hook.Object.Keep}
	if adopts { // what is applied over is the object that it was
		ahead.UID, ahead.Adopted = last.UID, last.UID == "" || last.Adopted
	}
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
		return c.hookNotStarted(ctx, s, hook, result.Err)
	}
	result.Adopted = result.Adopted && adopts // else it was made for this run
	s.setEntries(inventory.Record(s.entries(), entryOf(object, result, hook.Name)))
	c.started(s, hook, result)
	return next()
}

// hookNotStarted is the outcome of a hook whose object could not be applied. It is tried again for
// as long as the hook may take, whatever refused it, and has failed then. That the target cannot be
// reached is none of the hook's: it takes no time of it. What was to be prepared in a namespace that
// is gone needs no preparation any more.
func (c *Controller) hookNotStarted(ctx context.Context, s *scope, hook render.Hook, err error) outcome {
	s.takeBack([]apply.Result{{Key: hook.Object.Key(), Err: err}})
	c.awaitOwner(s, err)
	switch {
	case ofConnection(err):
		return s.hookOutOfReach(hook, err)
	case hook.On == corev1alpha1.HookPreDelete && apply.NamespaceMissing(err):
		return s.passOver(hook)
	}
	return c.postpone(ctx, s, hook, err)
}

// ofConnection tells errors of the connection to the target, as which nothing was decided there.
func ofConnection(err error) bool {
	return slices.ContainsFunc([]error{
		clusterconn.ErrUnreachable, clusterconn.ErrUnauthenticated, clusterconn.ErrInvalid, context.Canceled, context.DeadlineExceeded,
	}, func(class error) bool { return errors.Is(err, class) })
}

// passOver leaves a preDelete hook out whose namespace is gone.
func (s *scope) passOver(hook render.Hook) outcome {
	now := metav1.NewTime(s.now)
	why := fmt.Sprintf("passed over: namespace %s does not exist any more, and nothing is left in it to prepare", hook.Object.Object.GetNamespace())
	s.setHookStatus(corev1alpha1.HookStatus{
		Name: hook.Name, On: hook.On, Run: s.run, Phase: corev1alpha1.HookSucceeded, StartedAt: &now, FinishedAt: &now, Message: why,
	})
	s.notices = append(s.notices, notice{warning: true, reason: "HooksSkipped", message: hookText(hook, why)})
	return next()
}

// postpone waits with a hook that cannot be started yet, no longer than it may take. It is in
// the status since the first time, without an object. What was refused is tried again less and
// less often.
func (c *Controller) postpone(ctx context.Context, s *scope, hook render.Hook, err error) outcome {
	if s.hookStatus(hook.Name) == nil {
		s.setHookStatus(corev1alpha1.HookStatus{Name: hook.Name, On: hook.On, Run: s.run, Phase: corev1alpha1.HookRunning})
	}
	status := s.hookStatus(hook.Name)
	if status.StartedAt == nil {
		status.StartedAt = &metav1.Time{Time: s.now}
	}
	status.Message = shorten(err.Error())
	waiting, passes := errors.AsType[*apply.WaitingError](err)
	if passes {
		status.Message = shorten(waiting.Error())
	}
	if passes && meta.IsNoMatchError(err) {
		status.Message += ": its definition has to be among the objects, or that of a hook that runs before"
	}
	if out := c.expire(ctx, s, hook, status); out.kind != proceeds || status.Phase != corev1alpha1.HookRunning {
		return out // it has failed
	}
	if passes {
		return waitUnderWay(corev1alpha1.ReasonWaitingForHook, "waiting for "+hookText(hook, status.Message), time.Second)
	}
	deadline := s.deadline(hook, status)
	delay := min(max(s.hookLimit(hook)-deadline.Sub(s.now), time.Second), longestSoon)
	s.wakeIn(delay)
	return waitUnderWay(apply.Reason(err), fmt.Sprintf("%s; it is tried again, and has failed if it cannot be started until %s",
		hookText(hook, status.Message), deadline.UTC().Format(time.RFC3339)), delay)
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
	if lifecycle := s.release.Status.Lifecycle; lifecycle != nil {
		for _, last := range lifecycle.Hooks {
			if last.Name == hook.Name && last.Run != s.run && last.Object != nil {
				fmt.Fprintln(h, "instead of", last.Object.UID)
			}
		}
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
