// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/observer/internal/compare"
)

// write brings the inventory's status in line with the results, if it is not yet. It is
// written at the resourceVersion that was read: for a newer inventory the results do not
// count, and the conflict brings another pass.
func (c *HealthController) write(ctx context.Context, inventory *corev1alpha1.ReleaseInventory, results []judgement) error {
	status := statusOf(inventory, results, metav1.NewTime(c.Clock.Now().Truncate(time.Second)))
	if equality.Semantic.DeepEqual(status, inventory.Status) {
		return nil
	}
	updated := inventory.DeepCopy()
	updated.Status = status
	_, err := c.Client.CoreV1alpha1().ReleaseInventories(inventory.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("status of ReleaseInventory %s/%s: %w", inventory.Namespace, inventory.Name, err)
	}
	return nil
}

func statusOf(inventory *corev1alpha1.ReleaseInventory, results []judgement, now metav1.Time) corev1alpha1.ReleaseInventoryStatus {
	status := corev1alpha1.ReleaseInventoryStatus{ObservedGeneration: inventory.Generation, Summary: &corev1alpha1.HealthSummary{}}
	before := healthOf(inventory)
	for i, entry := range inventory.Spec.Entries {
		one := corev1alpha1.ObjectHealth{
			ObjectKey: entry.ObjectKey, Status: results[i].Status, Message: clip(results[i].Message), Since: &now,
		}
		if old, ok := before[identity(entry.ObjectKey)]; ok && old.Status == one.Status && old.Since != nil {
			one.Since = old.Since
		}
		summarize(status.Summary, one.Status)
		status.Health = append(status.Health, one)
	}
	return status
}

// healthOf is the health in the inventory's status.
func healthOf(inventory *corev1alpha1.ReleaseInventory) map[corev1alpha1.ObjectKey]corev1alpha1.ObjectHealth {
	known := make(map[corev1alpha1.ObjectKey]corev1alpha1.ObjectHealth, len(inventory.Status.Health))
	for _, one := range inventory.Status.Health {
		known[identity(one.ObjectKey)] = one
	}
	return known
}

// messageLimit bounds a message in the inventory, of which thousands share one object.
const messageLimit = 512

func clip(message string) string { return shortenTo(message, messageLimit) }

// summarize adds one object to a summary.
func summarize(summary *corev1alpha1.HealthSummary, status corev1alpha1.HealthStatus) {
	switch status {
	case corev1alpha1.HealthHealthy:
		summary.Healthy++
	case corev1alpha1.HealthProgressing:
		summary.Progressing++
	case corev1alpha1.HealthDegraded:
		summary.Degraded++
	case corev1alpha1.HealthSuspended:
		summary.Suspended++
	case corev1alpha1.HealthMissing:
		summary.Missing++
	default:
		summary.Unknown++
	}
}

// Report is the answer of the health subresource: the live objects judged now. The
// Release's own health is that of its objects which are applied, as in its condition
// Healthy: hooks are listed and do not count. Errors: those of Connect, and those of a
// target that does not answer or does not accept the credentials.
func (c *HealthController) Report(ctx context.Context, release *corev1alpha1.Release) (*corev1alpha1.ReleaseHealth, error) {
	report := &corev1alpha1.ReleaseHealth{Status: corev1alpha1.HealthUnknown, Objects: []corev1alpha1.ObjectHealthDetail{}}
	inventory, err := c.Inventories.ReleaseInventories(release.Namespace).Get(release.Name)
	if apierrors.IsNotFound(err) {
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := c.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	reader := &compare.Comparer{Target: t, Installation: c.Installation, Release: release}
	var counted []corev1alpha1.HealthStatus
	before := healthOf(inventory)
	for _, result := range c.judge(ctx, release, inventory, t, reader).results {
		if errors.Is(result.err, clusterconn.ErrUnreachable) || errors.Is(result.err, clusterconn.ErrUnauthenticated) {
			return nil, result.err
		}
		detail := corev1alpha1.ObjectHealthDetail{
			ObjectHealth: corev1alpha1.ObjectHealth{ObjectKey: result.entry.ObjectKey, Status: result.Status, Message: result.Message},
			Rule:         result.Rule,
		}
		if old := before[identity(result.entry.ObjectKey)]; old.Status == detail.Status {
			detail.Since = old.Since
		}
		if result.entry.Hook == "" && result.entry.Digest != "" {
			counted = append(counted, result.Status)
		}
		summarize(&report.Summary, result.Status)
		report.Objects = append(report.Objects, detail)
	}
	report.Status = health.Worst(counted...)
	return report, nil
}
