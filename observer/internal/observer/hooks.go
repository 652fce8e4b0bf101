// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/observer/internal/compare"
)

// followHooks writes the result of hooks that have ended through the lifecycle
// subresource.
func (c *HealthController) followHooks(ctx context.Context, release *corev1alpha1.Release, connection *clusterconn.Connection) error {
	if release.Status.Lifecycle == nil {
		return nil
	}
	reader := &compare.Comparer{Target: connection, Installation: c.Installation, Release: release}
	var updated *corev1alpha1.Release
	for i, hook := range release.Status.Lifecycle.Hooks {
		if hook.Phase != corev1alpha1.HookRunning || hook.Object == nil {
			continue
		}
		phase, message, err := judgeHook(ctx, reader, hook)
		if err != nil {
			return fmt.Errorf("hook %s: %w", hook.Name, err)
		}
		if phase == corev1alpha1.HookRunning && message == hook.Message {
			continue
		}
		if updated == nil {
			updated = release.DeepCopy()
		}
		updated.Status.Lifecycle.Hooks[i].Phase = phase
		updated.Status.Lifecycle.Hooks[i].Message = message
		if phase != corev1alpha1.HookRunning {
			now := metav1.NewTime(c.Clock.Now().Truncate(time.Second))
			updated.Status.Lifecycle.Hooks[i].FinishedAt = &now
		}
	}
	if updated == nil {
		return nil
	}
	return c.writeLifecycle(ctx, updated)
}

// judgeHook tells how far the run of a hook is. The object is known by its UID: another
// object of the same name is not the one that was started.
func judgeHook(ctx context.Context, reader *compare.Comparer, hook corev1alpha1.HookStatus) (corev1alpha1.HookPhase, string, error) {
	live, err := reader.Live(ctx, hook.Object.ObjectKey)
	if err != nil {
		return "", "", err
	}
	if live == nil || hook.Object.UID != "" && live.GetUID() != hook.Object.UID {
		return corev1alpha1.HookFailed, objectName(hook.Object.ObjectKey) + " vanished before it finished", nil
	}
	phase, message := health.AssessHook(live)
	return phase, message, nil
}

func (c *HealthController) writeLifecycle(ctx context.Context, release *corev1alpha1.Release) error {
	err := c.Client.CoreV1alpha1().RESTClient().Put().
		Namespace(release.Namespace).Resource("releases").Name(release.Name).SubResource("lifecycle").
		Body(release).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
