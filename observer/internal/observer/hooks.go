// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/observer/internal/compare"
)

// hooksRun tells whether hooks of the Release are under way.
func hooksRun(release *corev1alpha1.Release) bool {
	return release.Status.Lifecycle != nil && slices.ContainsFunc(release.Status.Lifecycle.Hooks, func(hook corev1alpha1.HookStatus) bool {
		return hook.Phase == corev1alpha1.HookRunning
	})
}

// followHooks writes how the Release's running hooks are through the lifecycle
// subresource, at the resourceVersion that was read: a run that was replaced meanwhile is
// not touched. again is when to look again if nothing happens.
func (c *HealthController) followHooks(
	ctx context.Context, release *corev1alpha1.Release, around *surroundings, reader *compare.Comparer,
) (again time.Duration, err error) {
	again = c.Resync
	if release.Status.Lifecycle == nil {
		return again, nil
	}
	assessor, _ := c.Rules.For(release)
	updated := release.DeepCopy()
	changed := false
	var errs []error
	for i := range updated.Status.Lifecycle.Hooks {
		hook := &updated.Status.Lifecycle.Hooks[i]
		if hook.Phase != corev1alpha1.HookRunning || hook.Object == nil {
			continue
		}
		var until time.Time
		phase, message, err := judgeHook(ctx, assessor, around, reader, *hook, &until)
		if err != nil {
			errs = append(errs, fmt.Errorf("hook %s: %w", hook.Name, err))
			continue
		}
		if !until.IsZero() {
			again = min(again, untilFrom(c.Clock.Now(), until))
		}
		message = clip(message)
		if phase == hook.Phase && message == hook.Message {
			continue
		}
		changed = true
		hook.Phase, hook.Message = phase, message
		if phase != corev1alpha1.HookRunning {
			hook.FinishedAt = &metav1.Time{Time: c.Clock.Now().Truncate(time.Second)}
		}
	}
	if changed {
		_, err := c.Client.CoreV1alpha1().Releases(updated.Namespace).UpdateLifecycle(ctx, updated.Name, updated, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("lifecycle of Release %s/%s: %w", release.Namespace, release.Name, err))
		}
	}
	return again, errors.Join(errs...)
}

// judgeHook tells how far the run of a hook is. The object is known by its UID: another
// object of the same name is not the one that was started. Nothing is concluded from a kind
// that is not served: it was a moment ago. until is set as by surroundings.of.
func judgeHook(
	ctx context.Context, assessor *health.Assessor, around *surroundings, reader *compare.Comparer, hook corev1alpha1.HookStatus,
	until *time.Time,
) (corev1alpha1.HookPhase, string, error) {
	live, served, err := reader.Live(ctx, *hook.Object)
	if err != nil {
		return "", "", err
	}
	if !served {
		return hook.Phase, "the cluster does not serve the kind of " + objectName(hook.Object.ObjectKey), nil
	}
	if live == nil || hook.Object.UID != "" && live.GetUID() != hook.Object.UID {
		return corev1alpha1.HookFailed, objectName(hook.Object.ObjectKey) + " vanished before it finished", nil
	}
	since := func() time.Time {
		if hook.StartedAt == nil {
			return around.clock.Now()
		}
		return hook.StartedAt.Time
	}
	phase, message := assessor.AssessHook(live, around.of(ctx, live, since, until))
	return phase, message, nil
}
