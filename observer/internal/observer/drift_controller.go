// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/render"
)

// Controller is the drift loop: it compares the objects of a Release with what was applied
// and, in automatic mode, asks for a sync where they differ. Its key is the name of the
// Release.
type Controller struct {
	Host
	Desired *desired.Resolver
	Clock   clock.Clock
	Resync  time.Duration

	mu    sync.Mutex
	known map[types.NamespacedName]*memory
}

// memory is what the loop remembers of a Release. Losing it costs requests, nothing else.
type memory struct {
	// applied is the render that the rest speaks of.
	applied string
	// clean are the objects that were found as desired: their digest and resourceVersion.
	clean map[corev1alpha1.ObjectKey]cleanAt
	// corrections counts how often the same drift was corrected.
	corrections map[string]*correction
}

type cleanAt struct{ digest, version string }

// anyVersion is the version of an object whose drift is ignored: it is clean at every one.
const anyVersion = "*"

// drifted is one object that differs.
type drifted struct {
	key     corev1alpha1.ObjectKey
	digest  string
	changes []corev1alpha1.FieldChange
	missing bool
	live    map[string]any
	err     error
}

// Reconcile looks for drift of one Release. Objects that did not change since they were
// found clean cost no request.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) (base.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	release, err := c.Releases.Releases(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.forget(key)
		return base.Result{}, nil
	}
	if err != nil {
		return base.Result{}, err
	}
	if release.Spec.Drift != nil && release.Spec.Drift.Mode == corev1alpha1.DriftModeDisabled {
		return base.Result{}, c.report(ctx, release, metav1.ConditionUnknown, corev1alpha1.ReasonDriftDisabled, "drift is not looked for: spec.drift.mode is disabled")
	}
	if !settled(release) || c.clusterSuspended(release) {
		return base.Result{RequeueAfter: c.Resync}, nil
	}
	connection, cluster, err := c.Connect(ctx, release)
	if err != nil {
		return base.Result{RequeueAfter: c.Resync}, c.report(ctx, release, metav1.ConditionUnknown, corev1alpha1.ReasonTargetUnreachable, err.Error())
	}
	resync := c.Resync
	if inventory, err := c.Inventories.ReleaseInventories(key.Namespace).Get(key.Name); err == nil {
		resync = c.track(ctx, release, inventory, resync)
	}
	remembered := c.remember(key, release.Status.Applied.Render)
	if c.allClean(ctx, release, connection, cluster, remembered) {
		return base.Result{RequeueAfter: resync}, nil
	}
	want, err := c.Desired.Applied(ctx, release, connection)
	if err != nil {
		reason := corev1alpha1.ReasonUnknown
		if errors.Is(err, desired.ErrNotReproducible) {
			reason = corev1alpha1.ReasonNonDeterministic
		}
		return base.Result{RequeueAfter: resync}, c.report(ctx, release, metav1.ConditionUnknown, reason, "what was applied cannot be told: "+err.Error())
	}
	found := c.compare(ctx, release, want, connection, cluster, remembered)
	return c.conclude(ctx, release, found, remembered, resync)
}

// settled tells whether the Release is as applied: nothing is under way that would look
// like drift.
func settled(release *corev1alpha1.Release) bool {
	applied := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionApplied)
	return release.DeletionTimestamp == nil && !release.Spec.Suspend && release.Status.Applied != nil &&
		applied != nil && applied.Status == metav1.ConditionTrue && !syncPending(release)
}

// clusterSuspended tells whether nothing is synced to the Release's cluster now, so that a
// correction could not be made.
func (c *Controller) clusterSuspended(release *corev1alpha1.Release) bool {
	cluster, err := c.Cluster(release)
	return err == nil && cluster.Spec.Suspend
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

// allClean tells, from the watches alone, that no object changed since all were clean.
func (c *Controller) allClean(ctx context.Context, release *corev1alpha1.Release, connection *clusterconn.Connection, cluster types.NamespacedName, m *memory) bool {
	insync := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionInSync)
	if insync == nil || insync.Status != metav1.ConditionTrue || insync.ObservedGeneration != release.Generation {
		return false
	}
	if len(m.clean) == 0 || int32(len(m.clean)) != release.Status.Applied.Objects {
		return false
	}
	for key, clean := range m.clean {
		version, known := c.version(ctx, connection, cluster, key)
		if clean.version != anyVersion && (!known || version != clean.version) {
			return false
		}
	}
	return true
}

// compare compares every object and remembers which are clean.
func (c *Controller) compare(ctx context.Context, release *corev1alpha1.Release, want *desired.Desired,
	connection *clusterconn.Connection, cluster types.NamespacedName, m *memory,
) []drifted {
	comparer := &compare.Comparer{Target: connection, Installation: c.Installation, Release: release}
	outcomes := make([]*drifted, len(want.Objects))
	clean := make([]cleanAt, len(want.Objects))
	compare.Parallel(len(want.Objects), func(i int) {
		object := want.Objects[i]
		key := object.Key()
		version, seen := c.version(ctx, connection, cluster, key)
		if seen && m.clean[key] == (cleanAt{object.Digest, version}) {
			clean[i] = m.clean[key]
			return
		}
		outcomes[i], clean[i].version = compareOne(ctx, comparer, object)
		clean[i].digest = object.Digest
	})
	m.clean = map[corev1alpha1.ObjectKey]cleanAt{}
	var found []drifted
	for i, outcome := range outcomes {
		if outcome != nil {
			found = append(found, *outcome)
			continue
		}
		m.clean[want.Objects[i].Key()] = clean[i]
	}
	return found
}

// compareOne returns nil and the live resourceVersion when the object is as desired.
func compareOne(ctx context.Context, comparer *compare.Comparer, object render.Object) (*drifted, string) {
	if object.Object.GetAnnotations()[corev1alpha1.AnnotationDrift] == "ignore" {
		return nil, anyVersion
	}
	outcome := comparer.Compare(ctx, object)
	result := &drifted{key: object.Key(), digest: object.Digest, changes: outcome.Changes, err: outcome.Err}
	switch outcome.Action {
	case corev1alpha1.ActionUnchanged:
		return nil, outcome.Live.GetResourceVersion()
	case corev1alpha1.ActionCreate:
		result.missing = true
	}
	if outcome.Live != nil {
		result.live = outcome.Live.Object
	}
	return result, ""
}

// conclude reports what was found and asks for a correction where that is wanted.
func (c *Controller) conclude(ctx context.Context, release *corev1alpha1.Release, found []drifted, m *memory, resync time.Duration) (base.Result, error) {
	found, err := c.withoutUnderWay(ctx, release, found)
	if err != nil {
		return base.Result{}, err
	}
	if len(found) == 0 {
		if len(m.clean) < int(release.Status.Applied.Objects) {
			return base.Result{RequeueAfter: time.Second}, nil // a sync is under way
		}
		return base.Result{RequeueAfter: resync}, c.report(ctx, release, metav1.ConditionTrue, corev1alpha1.ReasonInSync,
			fmt.Sprintf("all %d objects are as applied", len(m.clean)))
	}
	if failed := firstFailure(found); failed != nil {
		return base.Result{RequeueAfter: resync}, c.report(ctx, release, metav1.ConditionUnknown, corev1alpha1.ReasonUnknown,
			fmt.Sprintf("%s could not be compared: %v", objectName(failed.key), failed.err))
	}
	if release.Spec.Sync.Mode == corev1alpha1.SyncModeManual {
		return base.Result{RequeueAfter: resync}, c.report(ctx, release, metav1.ConditionFalse, corev1alpha1.ReasonDrifted,
			describe(found)+"; a sync corrects it")
	}
	if wait, contested := m.contested(found, c.Clock.Now()); contested != nil {
		return base.Result{RequeueAfter: wait}, c.report(ctx, release, metav1.ConditionFalse, corev1alpha1.ReasonDriftContested,
			fmt.Sprintf("%s; it was corrected %d times and came back%s: take the field out of the source, or list it in spec.drift.ignore",
				describe(found), contested.count, rival(found)))
	}
	if err := c.report(ctx, release, metav1.ConditionFalse, corev1alpha1.ReasonDrifted, describe(found)+"; a sync is requested"); err != nil {
		return base.Result{}, err
	}
	if err := c.requestSync(ctx, release); err != nil {
		return base.Result{}, err
	}
	m.corrected(found, c.Clock.Now())
	klog.FromContext(ctx).Info("drift found, sync requested", "drift", describe(found))
	return base.Result{RequeueAfter: resync}, nil
}

// withoutUnderWay leaves out the objects that the inventory, read now, does not name as
// applied with the compared digest: a newer apply has begun, and what looks like drift is
// its work. The controller-manager takes the digest off before it applies, so that this
// read cannot miss it.
func (c *Controller) withoutUnderWay(ctx context.Context, release *corev1alpha1.Release, found []drifted) ([]drifted, error) {
	if len(found) == 0 {
		return nil, nil
	}
	inventory, err := c.Client.CoreV1alpha1().ReleaseInventories(release.Namespace).Get(ctx, release.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	digests := map[corev1alpha1.ObjectKey]string{}
	for _, entry := range inventory.Spec.Entries {
		digests[identity(entry.ObjectKey)] = entry.Digest
	}
	var kept []drifted
	for _, one := range found {
		if digests[identity(one.key)] == one.digest {
			kept = append(kept, one)
		}
	}
	return kept, nil
}

func firstFailure(found []drifted) *drifted {
	for i := range found {
		if found[i].err != nil {
			return &found[i]
		}
	}
	return nil
}

// describedObjects is how many objects a message names.
const describedObjects = 3

// describe names the first few objects with their fields.
func describe(found []drifted) string {
	var parts []string
	for i, one := range found {
		if i == describedObjects {
			parts = append(parts, fmt.Sprintf("%d more", len(found)-i))
			break
		}
		switch {
		case one.missing:
			parts = append(parts, objectName(one.key)+" is missing")
		case len(one.changes) == 0:
			parts = append(parts, objectName(one.key)+" differs")
		case len(one.changes) == 1:
			parts = append(parts, fmt.Sprintf("%s differs in %s", objectName(one.key), one.changes[0].Path))
		default:
			parts = append(parts, fmt.Sprintf("%s differs in %s and %d more fields", objectName(one.key), one.changes[0].Path, len(one.changes)-1))
		}
	}
	return strings.Join(parts, ", ")
}

func (c *Controller) requestSync(ctx context.Context, release *corev1alpha1.Release) error {
	err := c.Client.CoreV1alpha1().RESTClient().Post().
		Namespace(release.Namespace).Resource("releases").Name(release.Name).SubResource("sync").Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// remember returns what is known of the Release; all but the render that it speaks of is
// dropped when that changed.
func (c *Controller) remember(key types.NamespacedName, applied string) *memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[types.NamespacedName]*memory{}
	}
	m := c.known[key]
	if m == nil || m.applied != applied {
		m = &memory{applied: applied, clean: map[corev1alpha1.ObjectKey]cleanAt{}, corrections: map[string]*correction{}}
		c.known[key] = m
	}
	return m
}

func (c *Controller) forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, key)
}
