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
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/window"
)

// fieldManager owns the condition InSync and nothing else of a Release's status.
const fieldManager = "convoy-observer"

// conclude reports what was found and asks for a correction where that is wanted.
func (c *Controller) conclude(ctx context.Context, release *corev1alpha1.Release, t *Target, found findings, m *memory) (base.Result, error) {
	say := func(status metav1.ConditionStatus, reason, message string) error {
		return c.report(ctx, release, m, status, reason, message)
	}
	result := base.Result{RequeueAfter: c.Resync}
	if len(found.failed) > 0 {
		result.RequeueAfter = min(result.RequeueAfter, retryInterval)
	}
	switch {
	case len(found.drifted) == 0 && len(found.failed) == 0:
		return result, say(metav1.ConditionTrue, corev1alpha1.ReasonInSync, allAsApplied(found.compared))
	case len(found.drifted) == 0:
		reason, message := notCompared(found.failed)
		return result, say(metav1.ConditionUnknown, reason, message)
	}
	drift := describe(found.drifted)
	if len(found.failed) > 0 {
		_, message := notCompared(found.failed)
		drift += "; " + message
	}
	if why := onlyReported(release, t.Cluster); why != "" {
		return result, say(metav1.ConditionFalse, corev1alpha1.ReasonDrifted, drift+"; "+why)
	}
	if why, opens := closedWindow(release, c.Clock.Now()); why != "" {
		if opens > 0 {
			result.RequeueAfter = min(result.RequeueAfter, opens)
		}
		return result, say(metav1.ConditionFalse, corev1alpha1.ReasonDrifted, drift+"; "+why)
	}
	now := c.Clock.Now()
	fought, others, wait := m.contested(found.drifted, now)
	if !others {
		result.RequeueAfter = min(result.RequeueAfter, wait)
		return result, say(metav1.ConditionFalse, corev1alpha1.ReasonDriftContested, fmt.Sprintf("%s; %s", drift, wayOut))
	}
	if left := m.besides(now); len(fought) > 0 && left > 0 {
		result.RequeueAfter = min(result.RequeueAfter, left)
		return result, say(metav1.ConditionFalse, corev1alpha1.ReasonDriftContested, fmt.Sprintf(
			"%s; it is corrected at %s, because a sync restores what is contested too: %s; %s", drift, now.Add(left).UTC().Format(time.RFC3339), describe(fought), wayOut))
	}
	if err := say(metav1.ConditionFalse, corev1alpha1.ReasonDrifted, drift+"; "+requested); err != nil {
		return base.Result{}, err
	}
	if err := c.correct(ctx, release, found.drifted, m); err != nil {
		return result, err
	}
	if len(fought) > 0 {
		m.besidesAt = now
	}
	return result, nil
}

// wayOut is what is said of drift that is contested.
var wayOut = fmt.Sprintf("it was corrected %d times and came back: take the field out of the source, or list it in spec.drift.ignore", contestedAfter)

// notCompared says why objects could not be compared, with the reason of a condition. No
// object is named for what is the target's fault.
func notCompared(failed []drifted) (reason, message string) {
	for _, one := range failed {
		if ofTarget(one.err) {
			return targetReason(one.err), one.err.Error()
		}
	}
	return targetReason(failed[0].err), describe(failed)
}

// requested is what is said of drift for which a sync is asked for.
const requested = "a sync is requested"

func allAsApplied(n int) string {
	if n == 1 {
		return "1 object is as applied"
	}
	return count(n, "object") + " are as applied"
}

// onlyReported says what becomes of drift that is not corrected now; "" for one that is. A
// request passes everything that holds an automatic sync up, so that none is made while
// something new waits to be applied. One that waits already is not made again.
func onlyReported(release *corev1alpha1.Release, cluster *corev1alpha1.Cluster) string {
	applied := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionApplied)
	switch {
	case cluster.Spec.Suspend:
		return "nothing is synced while Cluster " + cluster.Name + " is suspended"
	case sourceSuspended(release):
		return "nothing is synced while the source is suspended"
	case syncPending(release):
		return requested
	case release.Spec.Sync.Mode == corev1alpha1.SyncModeManual:
		return "a sync corrects it"
	case applied.Reason != corev1alpha1.ReasonApplied && applied.Reason != corev1alpha1.ReasonRolledBack || applied.ObservedGeneration != release.Generation:
		return "it is corrected with the next sync, which is yet to come (" + applied.Reason + ")"
	}
	return ""
}

// sourceSuspended tells whether the controller-manager waits for the source to be resumed,
// before it corrects anything too.
func sourceSuspended(release *corev1alpha1.Release) bool {
	ready := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionSourceReady)
	return ready != nil && ready.Reason == corev1alpha1.ReasonSourceSuspended
}

// closedWindow says what a correction waits for while no automatic sync may start, and how
// long that is; "" when one may.
func closedWindow(release *corev1alpha1.Release, now time.Time) (why string, opens time.Duration) {
	if len(release.Spec.Sync.Windows) == 0 {
		return "", 0
	}
	windows, err := window.Parse(release.Spec.Sync.Windows)
	if err != nil {
		return "it is not corrected: " + err.Error(), 0
	}
	at, found := windows.Next(now)
	switch {
	case !found:
		return "it is not corrected: no window of spec.sync.windows will open; a requested sync does not wait for one", 0
	case at.After(now):
		return "it is corrected when the next window of spec.sync.windows opens, at " + at.UTC().Format(time.RFC3339) +
			"; a requested sync does not wait for it", at.Sub(now) + time.Second
	}
	return "", 0
}

// report sets the condition InSync, if it is not so yet.
func (c *Controller) report(ctx context.Context, release *corev1alpha1.Release, m *memory, status metav1.ConditionStatus, reason, message string) error {
	message = shorten(message)
	old := m.condition(release)
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
	written, err := c.Client.CoreV1alpha1().Releases(release.Namespace).ApplyStatus(ctx, apply, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("status of Release %s/%s: %w", release.Namespace, release.Name, err)
	}
	m.wrote(written)
	return nil
}
