// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	corev1alpha1ac "kumodo.io/convoy/client/applyconfiguration/core/v1alpha1"
)

// fieldManager owns the condition InSync and nothing else of a Release's status.
const fieldManager = "convoy-observer"

// report sets the condition InSync, if it is not so yet.
func (c *Controller) report(ctx context.Context, release *corev1alpha1.Release, status metav1.ConditionStatus, reason, message string) error {
	old := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionInSync)
	if old != nil && old.Status == status && old.Reason == reason && old.Message == message && old.ObservedGeneration == release.Generation {
		return nil
	}
	since := metav1.NewTime(c.Clock.Now().Truncate(time.Second))
	if old != nil && old.Status == status {
		since = old.LastTransitionTime
	}
	condition := metav1ac.Condition().WithType(corev1alpha1.ConditionInSync).WithStatus(status).WithReason(reason).
		WithMessage(message).WithObservedGeneration(release.Generation).WithLastTransitionTime(since)
	apply := corev1alpha1ac.Release(release.Name, release.Namespace).
		WithStatus(corev1alpha1ac.ReleaseStatus().WithConditions(condition))
	_, err := c.Client.CoreV1alpha1().Releases(release.Namespace).ApplyStatus(ctx, apply, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("status of Release %s/%s: %w", release.Namespace, release.Name, err)
	}
	return nil
}
