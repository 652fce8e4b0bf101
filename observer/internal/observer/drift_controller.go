// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/render"
)

// Renders finds what was last applied, and keeps some of it; a *desired.Resolver does.
type Renders interface {
	Applied(ctx context.Context, release *corev1alpha1.Release, target render.Cluster) (*desired.Desired, error)
	// Forget drops what is kept of a Release.
	Forget(release types.NamespacedName)
}

// Controller is the drift loop: it compares the objects of a Release with what was applied
// and, in automatic mode, asks for a sync where they differ. Its key is the name of the
// Release.
type Controller struct {
	Host
	Desired Renders
	Clock   clock.Clock
	Resync  time.Duration
	// FullInterval is how often all objects are compared, whatever the watches say of them;
	// never when it is 0.
	FullInterval time.Duration

	mu    sync.Mutex
	known map[types.NamespacedName]*memory
}

// Reconcile looks for drift of one Release. Objects that did not change since they were
// found clean cost no request, until a complete check is due.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (base.Result, error) {
	release, err := c.Releases.Releases(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.Forget(key)
		return base.Result{}, nil
	}
	if err != nil {
		return base.Result{}, err
	}
	m := c.remember(key, release)
	result, err := c.reconcile(ctx, key, release, m)
	if c.FullInterval > 0 && result.RequeueAfter > 0 {
		// The next check may be due already, when this one took longer than the interval.
		result.RequeueAfter = min(result.RequeueAfter, max(m.fullAt.Sub(c.Clock.Now()), time.Second))
	}
	return result, err
}

func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName, release *corev1alpha1.Release, m *memory) (base.Result, error) {
	later := base.Result{RequeueAfter: c.Resync}
	if reason, message := notLookedFor(release); reason != "" {
		return base.Result{}, c.report(ctx, release, m, metav1.ConditionUnknown, reason, message)
	}
	if release.Status.Applied == nil || m.awaitsOwnRequest(release) {
		return later, nil // an event comes when this changes
	}
	// Before anything else that may last: what was found earlier must not stand when nobody
	// can look any more.
	t, err := c.reach(ctx, release)
	if err != nil {
		return later, c.report(ctx, release, m, metav1.ConditionUnknown, targetReason(err), err.Error())
	}
	inventory, err := c.Inventory(ctx, key)
	if apierrors.IsNotFound(err) {
		return later, nil // an event comes when there is one
	}
	if err != nil {
		return base.Result{}, err
	}
	if why := notApplied(release); why != "" {
		return c.wait(ctx, release, m, why)
	}
	if syncPending(release) {
		if left := m.patience(c.Clock.Now()); left > 0 {
			return base.Result{RequeueAfter: min(left, c.Resync)}, nil
		}
	}
	entries := inventory.Entries()
	if c.track(ctx, release, entries, t) {
		return base.Result{RequeueAfter: catchUpRetry}, nil
	}
	applied, clean := c.seen(ctx, release, inventory, entries, t, m)
	if applied < release.Status.Applied.Objects {
		return c.wait(ctx, release, m, "a sync is under way") // or the inventory comes later than the Release
	}
	if !m.full && clean && applied == release.Status.Applied.Objects {
		m.settled()
		return later, c.report(ctx, release, m, metav1.ConditionTrue, corev1alpha1.ReasonInSync, allAsApplied(int(release.Status.Applied.Objects)))
	}
	return c.look(ctx, release, inventory, t, m)
}

// notLookedFor says why drift of the Release is not looked for, if it is not.
func notLookedFor(release *corev1alpha1.Release) (reason, message string) {
	switch {
	case release.DeletionTimestamp != nil:
		return corev1alpha1.ReasonDeleting, "drift is not looked for: the Release is being deleted"
	case release.Spec.Drift != nil && release.Spec.Drift.Mode == corev1alpha1.DriftModeDisabled:
		return corev1alpha1.ReasonDriftDisabled, "drift is not looked for: spec.drift.mode is disabled"
	case release.Spec.Suspend:
		return corev1alpha1.ReasonSuspended, "drift is not looked for: spec.suspend is true"
	}
	return "", ""
}

// notApplied says why the objects are not those of one render, if they are not: a sync is
// under way, or failed half-way.
func notApplied(release *corev1alpha1.Release) string {
	applied := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionApplied)
	switch {
	case applied == nil:
		return "nothing is known of the last sync"
	case applied.Status != metav1.ConditionTrue:
		return "the last sync is not complete (" + applied.Reason + ", see Applied)"
	}
	return ""
}

// wait says that nothing can be told before a sync is complete, once that has lasted longer
// than most syncs take: what was found before it must not stand for ever.
func (c *Controller) wait(ctx context.Context, release *corev1alpha1.Release, m *memory, why string) (base.Result, error) {
	if left := m.patience(c.Clock.Now()); left > 0 {
		return base.Result{RequeueAfter: min(left, c.Resync)}, nil
	}
	return base.Result{RequeueAfter: c.Resync},
		c.report(ctx, release, m, metav1.ConditionUnknown, corev1alpha1.ReasonProgressing, "drift is looked for again after the next complete sync: "+why)
}

// syncPending tells whether a requested sync has not been handled yet.
func syncPending(release *corev1alpha1.Release) bool {
	handled := release.Status.Sync
	if handled == nil {
		handled = &corev1alpha1.SyncStatus{}
	}
	return release.Annotations[corev1alpha1.AnnotationSyncRequestedAt] != handled.LastHandledAt ||
		release.Annotations[corev1alpha1.AnnotationSyncForceRequestedAt] != handled.LastHandledForceAt
}

// seen gives, from the inventory and the watches alone, how many objects are applied, and
// whether nobody has written to any of them since, or since it was found clean. It needs
// neither the render nor the target.
func (c *Controller) seen(ctx context.Context, release *corev1alpha1.Release, inventory Pages, entries []corev1alpha1.InventoryEntry, t *Target, m *memory) (applied int32, clean bool) {
	clean = true
	for _, entry := range entries {
		if entry.Hook != "" || entry.Digest == "" {
			continue
		}
		applied++
		if !clean || m.isClean(entry.ObjectKey, entry.Digest, anyVersion) {
			continue
		}
		version, known := c.version(ctx, t, entry.ObjectKey)
		clean = known && (m.isClean(entry.ObjectKey, entry.Digest, version) || inventory.asApplied(release, entry, version))
	}
	return applied, clean
}

// look compares the objects with what was applied and says what came of it.
func (c *Controller) look(ctx context.Context, release *corev1alpha1.Release, inventory Pages, t *Target, m *memory) (base.Result, error) {
	pass, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	later := base.Result{RequeueAfter: c.Resync}
	want, err := c.Desired.Applied(pass, release, t)
	if err != nil {
		reason := targetReason(err)
		if errors.Is(err, desired.ErrNotReproducible) && release.Status.Applied.Generation != release.Generation {
			return c.wait(ctx, release, m, "what an older spec applied cannot be made from the present one")
		}
		if errors.Is(err, desired.ErrNotReproducible) {
			reason = corev1alpha1.ReasonNonDeterministic
		}
		return later, c.report(ctx, release, m, metav1.ConditionUnknown, reason, "what was applied cannot be told: "+err.Error())
	}
	found := c.compare(pass, release, inventory, want, t, m)
	if found.underWay {
		return c.wait(ctx, release, m, "a sync is under way")
	}
	m.settled()
	m.full = false
	if len(found.drifted) > 0 {
		if same, err := c.sameInventory(ctx, inventory); err != nil || !same {
			return later, err
		}
	}
	return c.conclude(ctx, release, t, found, m)
}

// sameInventory reads the inventory now and tells whether it is the one that the objects
// were compared by. If not, an apply has begun since, and what differs may be its work:
// the digest is taken off before an object is applied, so that no order of events can hide
// an apply from a read that comes after the difference was seen.
func (c *Controller) sameInventory(ctx context.Context, inventory Pages) (bool, error) {
	for _, page := range inventory {
		now, err := c.Client.CoreV1alpha1().ReleaseInventories(page.Namespace).Get(ctx, page.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if now.UID != page.UID || now.Generation != page.Generation {
			return false, nil
		}
	}
	return true, nil
}

// correct asks for a sync.
func (c *Controller) correct(ctx context.Context, release *corev1alpha1.Release, drift []drifted, m *memory) error {
	asked, err := c.Client.CoreV1alpha1().Releases(release.Namespace).Sync(ctx, release.Name, corev1alpha1.ReleaseSyncOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	m.requested(asked)
	m.corrected(drift, c.Clock.Now())
	klog.FromContext(ctx).Info("Drift found, sync requested", "drift", describe(drift))
	return nil
}

// remember returns what is known of the Release. What speaks of another render, or of
// another spec, is dropped.
func (c *Controller) remember(key types.NamespacedName, release *corev1alpha1.Release) *memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[types.NamespacedName]*memory{}
	}
	m := c.known[key]
	if m == nil || m.uid != release.UID {
		m = &memory{uid: release.UID}
		c.known[key] = m
	}
	m.startAt(release)
	if now := c.Clock.Now(); c.FullInterval > 0 && !now.Before(m.fullAt) {
		m.full = !m.fullAt.IsZero()
		m.fullAt = nextCheck(release.UID, c.FullInterval, now)
	}
	return m
}

// Forget drops what is remembered of a Release that is gone, or is another process's, and
// ends the watches that only it needed.
func (c *Controller) Forget(key types.NamespacedName) {
	c.Tracker.ForgetRelease(key)
	c.Desired.Forget(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, key)
}
