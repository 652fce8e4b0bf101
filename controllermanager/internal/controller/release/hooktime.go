// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/render"
)

// watch notes since when the Release, and its target, are looked at. That is anew when the target was
// away, and with each process: no time passes before that for what can take long in a target.
func (c *Controller) watch(s *scope) {
	if s.wasAway() {
		c.watched.forget(s.key)
		c.lacking.forget(s.key)
	}
	if s.watchedSince = c.watched.get(s.key); s.watchedSince.IsZero() {
		s.watchedSince = s.now
		c.watched.keep(s.key, s.now)
	}
}

// expire ends a run that takes longer than it may, its start included, and asks for a pass when it
// will. What its object says of itself comes first: it may have ended while nobody could look. Time
// in which nobody could is none of the hook's, so that all of it begins anew after that.
func (c *Controller) expire(ctx context.Context, s *scope, hook render.Hook, status *corev1alpha1.HookStatus) outcome {
	if status.Phase != corev1alpha1.HookRunning || status.StartedAt == nil {
		return next()
	}
	limit := s.hookLimit(hook)
	if left := untilFrom(status.StartedAt.Time, limit, s.now); left > 0 {
		s.wakeIn(left + time.Second)
		return next()
	}
	if status.Object != nil {
		if out := c.lookAtEnd(ctx, s, hook, status); out.kind != proceeds || status.Phase != corev1alpha1.HookRunning {
			return out
		}
	}
	if left := s.deadline(hook, status).Sub(s.now); left > 0 {
		s.wakeIn(left + time.Second)
		return next()
	}
	verb := "end"
	if status.Object == nil {
		verb = "start"
	}
	message := fmt.Sprintf("did not %s within %s", verb, limit)
	if status.Message != "" {
		message += " (" + status.Message + ")"
	}
	status.Phase, status.Message = corev1alpha1.HookFailed, message
	status.FinishedAt = &metav1.Time{Time: s.now}
	return next()
}

// deadline is when the time of a run is over.
func (s *scope) deadline(hook render.Hook, status *corev1alpha1.HookStatus) time.Time {
	from := status.StartedAt.Time
	if s.watchedSince.After(from) {
		from = s.watchedSince
	}
	return from.Add(s.hookLimit(hook))
}

// hookLimit is how long a run of a hook may take.
func (s *scope) hookLimit(hook render.Hook) time.Duration {
	if hook.Timeout > 0 {
		return hook.Timeout
	}
	return timeout(s.release)
}

// lookAtEnd looks at the object of a run, and notes its end if that is over. Whoever cannot look,
// because the identity may not, goes by the time.
func (c *Controller) lookAtEnd(ctx context.Context, s *scope, hook render.Hook, status *corev1alpha1.HookStatus) outcome {
	live, err := lookUp(ctx, s.target, status.Object.ObjectKey)
	switch {
	case ofConnection(err):
		return s.hookOutOfReach(hook, err)
	case err != nil:
		return next()
	case live == nil || live.GetUID() != status.Object.UID:
		status.Phase, status.Message = corev1alpha1.HookFailed, objectName(status.Object.ObjectKey)+" vanished before it finished"
		status.FinishedAt = &metav1.Time{Time: s.now}
		return next()
	}
	phase, at, message := apply.RunEnd(live)
	if phase == corev1alpha1.HookRunning {
		return next()
	}
	if at.IsZero() {
		at = s.now
	}
	status.Phase, status.Message, status.FinishedAt = phase, shorten(message), &metav1.Time{Time: at}
	return next()
}

// hookOutOfReach is the outcome of a hook that could not be asked for, because the target does not
// answer. That takes no time of it.
func (s *scope) hookOutOfReach(hook render.Hook, err error) outcome {
	out := fail(corev1alpha1.ConditionApplied, apply.Reason(err), fmt.Errorf("%s: %w", hookText(hook, ""), err))
	out.soon = apply.Retryable(err)
	return out
}

// lookUp reads an object of the target; nil when it is not there. That its kind is not served, which
// may pass, is an error.
func lookUp(ctx context.Context, target Target, key corev1alpha1.ObjectKey) (*unstructured.Unstructured, error) {
	mapping, err := target.Mapping(ctx, key.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	objects := target.Dynamic().Resource(mapping.Resource)
	var live *unstructured.Unstructured
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		live, err = objects.Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	} else {
		live, err = objects.Get(ctx, key.Name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return nil, nil
	case err != nil:
		return nil, clusterconn.Classify(err)
	}
	return live, nil
}

// wasAway tells whether the last pass did not come as far as the target, so that nothing could be
// started or looked at since then.
func (s *scope) wasAway() bool {
	ready := meta.FindStatusCondition(s.before.Conditions, corev1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionFalse && awayFor[ready.Reason]
}

// awayFor are the reasons for which a pass does not come as far as the target.
var awayFor = map[string]bool{
	corev1alpha1.ReasonTargetUnreachable: true, corev1alpha1.ReasonAuthenticationFailed: true,
	corev1alpha1.ReasonClusterNotFound: true, corev1alpha1.ReasonSecretNotFound: true,
	corev1alpha1.ReasonClusterSuspended: true, corev1alpha1.ReasonSuspended: true,
	corev1alpha1.ReasonInvalidConfiguration: true,
	corev1alpha1.ReasonWaitingForWave:       true, corev1alpha1.ReasonDependency: true,
}
