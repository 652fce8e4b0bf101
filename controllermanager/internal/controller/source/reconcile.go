// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/content"
	"kumodo.io/convoy/controllermanager/internal/errands"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/references"
	"kumodo.io/convoy/internal/sources"
)

const (
	defaultInterval = 10 * time.Minute
	// firstRetry is the delay after a failed check, which doubles up to the interval.
	firstRetry = 10 * time.Second
	// defaultPatience is how long a worker waits for a source, which most answer in.
	defaultPatience = 200 * time.Millisecond
	// jitter spreads checks that would all be due at once, as a part of the interval.
	jitter = 0.1
)

// Reconcile checks a source if that is due.
func (c *Controller[T]) Reconcile(ctx context.Context, key types.NamespacedName) (base.Result, error) {
	source, ok := c.cached(key)
	if !ok {
		c.forget(key)
		if c.config.References != nil {
			c.config.References.Forget(key)
		}
		return base.Result{}, nil
	}
	settings := c.kind.Settings(source)
	if settings.Suspend {
		return base.Result{}, c.write(ctx, source, c.suspended(source))
	}
	now := c.config.Clock.Now()
	state := c.track(ctx, source)
	if left := c.untilDue(source, state, interval(settings), now); left > 0 {
		return base.Result{RequeueAfter: left}, nil
	}
	result, err := c.ask(ctx, source, state)
	if ctx.Err() != nil {
		c.errands.Forget(key)
		return base.Result{}, context.Cause(ctx)
	}
	if errors.Is(err, errands.ErrUnfinished) {
		return base.Result{}, nil // it is enqueued when the source has answered
	}
	checked := c.checked(source, state, now, result, err)
	if err := c.write(ctx, source, checked); err != nil {
		return base.Result{}, err
	}
	return base.Result{RequeueAfter: wait.Jitter(c.pause(key, interval(settings)), jitter)}, nil
}

func (c *Controller[T]) cached(key types.NamespacedName) (source T, ok bool) {
	object, exists, err := c.kind.Informer.GetStore().GetByKey(key.String())
	if err != nil || !exists {
		return source, false
	}
	source, ok = object.(T)
	return source, ok
}

func interval(settings Settings) time.Duration {
	if settings.Interval != nil && settings.Interval.Duration > 0 {
		return settings.Interval.Duration
	}
	return defaultInterval
}

// track has a source enqueued when a Secret changes that it refers to, and gives the state
// of these. It goes before everything that reads.
func (c *Controller[T]) track(ctx context.Context, source T) string {
	if c.config.References == nil {
		return ""
	}
	return c.config.References.Track(ctx, nameOf(source), references.OfSource(source))
}

// untilDue is how long it is until the next check, 0 when it is due: at a change of the
// spec or of a Secret, and a pause after the last check.
func (c *Controller[T]) untilDue(source T, state string, interval time.Duration, now time.Time) time.Duration {
	c.mu.Lock()
	last, ok := c.checks[nameOf(source)]
	c.mu.Unlock()
	if !ok || !last.isOf(source, state) {
		return 0
	}
	return max(last.at.Add(last.pause(interval)).Sub(now), 0)
}

// isOf tells whether it was a check of this source, with its present spec and Secrets.
func (l check) isOf(source sources.Object, state string) bool {
	return l.uid == source.GetUID() && l.generation == source.GetGeneration() && l.references == state
}

// pause is the time until the next check.
func (c *Controller[T]) pause(key types.NamespacedName, interval time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checks[key].pause(interval)
}

func (l check) pause(interval time.Duration) time.Duration {
	if l.failures == 0 {
		return interval
	}
	pause := firstRetry
	for range l.failures - 1 {
		if pause >= interval {
			break
		}
		pause *= 2
	}
	return min(pause, interval)
}

// checkID tells checks of a source apart: one of another spec or other Secrets is another one.
type checkID struct {
	uid        types.UID
	generation int64
	references string
}

// ask asks the source. The error is errands.ErrUnfinished when that takes longer than a worker
// waits.
func (c *Controller[T]) ask(ctx context.Context, source T, state string) (fetch.CheckResult, error) {
	ctx, pass := c.errands.Begin(ctx, nameOf(source), base.PriorityResync)
	defer pass.Finish()
	return errands.Do(ctx, errands.Errand[fetch.CheckResult]{
		ID:       checkID{source.GetUID(), source.GetGeneration(), state},
		Patience: c.config.Patience, Pending: "the source is still being asked",
		Do: func(ctx context.Context) (fetch.CheckResult, error) {
			return c.config.Checker.Check(ctx, source.GetNamespace(), source)
		},
	})
}

// checked gives a copy of the object with what a check came to.
func (c *Controller[T]) checked(source T, state string, now time.Time, result fetch.CheckResult, err error) T {
	c.remember(source, state, now, err)
	checked := c.kind.Copy(source)
	condition := metav1.Condition{
		Status: metav1.ConditionTrue, Reason: corev1alpha1.ReasonReachable, Message: "the source answers and accepts the credentials",
	}
	if err != nil {
		condition = metav1.Condition{Status: metav1.ConditionFalse, Reason: content.Reason(err), Message: err.Error()}
	} else {
		c.kind.Learn(checked, result)
	}
	c.setReady(checked, condition, now)
	*c.kind.Status(checked).LastCheckTime = &metav1.Time{Time: now}
	return checked
}

func (c *Controller[T]) remember(source T, state string, now time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.checks[nameOf(source)]
	failures := 0
	if err != nil {
		failures = 1
		if last.isOf(source, state) {
			failures += last.failures
		}
	}
	c.checks[nameOf(source)] = check{
		uid: source.GetUID(), generation: source.GetGeneration(), references: state, at: now, failures: failures,
	}
}

func (c *Controller[T]) forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.checks, key)
	c.errands.Forget(key)
}

func (c *Controller[T]) suspended(source T) T {
	c.forget(nameOf(source)) // so that it is checked at once when it goes on
	stopped := c.kind.Copy(source)
	c.setReady(stopped, metav1.Condition{
		Status: metav1.ConditionFalse, Reason: corev1alpha1.ReasonSuspended,
		Message: "it is neither checked nor fetched from until spec.suspend is false",
	}, c.config.Clock.Now())
	return stopped
}

func (c *Controller[T]) setReady(source T, condition metav1.Condition, now time.Time) {
	status := c.kind.Status(source)
	*status.ObservedGeneration = source.GetGeneration()
	condition.Type, condition.ObservedGeneration = corev1alpha1.ConditionReady, source.GetGeneration()
	condition.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(status.Conditions, condition)
}

// write writes the status of the changed object if it says something new, or if an
// interval has passed since it was written last.
func (c *Controller[T]) write(ctx context.Context, before, changed T) error {
	if !c.differs(before, changed) {
		return nil
	}
	_, err := c.kind.Update(ctx, changed)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the status of %s: %w", nameOf(changed), err)
	}
	c.announce(before, changed)
	return nil
}

func (c *Controller[T]) differs(before, changed T) bool {
	old, current := c.kind.Status(before), c.kind.Status(changed)
	if *current.LastCheckTime != nil {
		if *old.LastCheckTime == nil ||
			(*current.LastCheckTime).Sub((*old.LastCheckTime).Time) >= interval(c.kind.Settings(changed)) {
			return true
		}
	}
	// All but the time and the text of a failure, which can differ from try to try.
	return !equality.Semantic.DeepEqual(c.substance(before), c.substance(changed))
}

// substance gives a copy of the object without what changes at every check.
func (c *Controller[T]) substance(source T) T {
	plain := c.kind.Copy(source)
	status := c.kind.Status(plain)
	*status.LastCheckTime = nil
	for i := range *status.Conditions {
		if (*status.Conditions)[i].Status == metav1.ConditionFalse {
			(*status.Conditions)[i].Message = ""
		}
	}
	return plain
}

// announce gives an event when Ready says something else than before.
func (c *Controller[T]) announce(before, changed T) {
	old := meta.FindStatusCondition(*c.kind.Status(before).Conditions, corev1alpha1.ConditionReady)
	current := meta.FindStatusCondition(*c.kind.Status(changed).Conditions, corev1alpha1.ConditionReady)
	switch {
	case current == nil || old != nil && old.Status == current.Status && old.Reason == current.Reason:
	case current.Status == metav1.ConditionTrue && old != nil:
		c.config.Recorder.Event(changed, corev1.EventTypeNormal, current.Reason, current.Message)
	case current.Status == metav1.ConditionFalse && current.Reason != corev1alpha1.ReasonSuspended:
		c.config.Recorder.Event(changed, corev1.EventTypeWarning, current.Reason, current.Message)
	}
}
