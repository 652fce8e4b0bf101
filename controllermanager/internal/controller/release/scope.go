// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
)

// scope is what the steps of one pass share. Each field says who sets it; everybody else
// only reads it.
type scope struct {
	// key names the Release. Set before the first step.
	key types.NamespacedName
	// release is the newest known state, a copy of the pass's own. Its status is the one
	// under construction: steps write what they found into it, all but the conditions. Its
	// metadata is replaced when a step writes to the Release.
	release *corev1alpha1.Release
	// before is the status with which the pass began. Set before the first step.
	before *corev1alpha1.ReleaseStatus
	// pages are the newest known state of the inventory, none when there is none, and
	// inventory is all of them as one. Set before the first step and by each write of them
	// (setPages).
	pages     []*corev1alpha1.ReleaseInventory
	inventory *corev1alpha1.ReleaseInventory
	// began is when the pass began. Set before the first step.
	began time.Time
	// now is when the present step began. Set before each step, and at the end of the pass.
	now time.Time
	// request is the sync that was asked for and has not been handled yet. Set before the
	// first step.
	request request
	// attempt is the last failed attempt that is remembered, nil when there is none. Set
	// before the first step, and again at the end of the pass, which is when it is kept.
	attempt *attempt

	// references is the state of the ConfigMaps and Secrets that the Release refers to. Set
	// before the first step.
	references string

	// cluster is the Release's target. Set by findCluster.
	cluster *corev1alpha1.Cluster
	// target is the connection to it with the Release's identity. Set by connect.
	target Target
	// applier writes to the target. Set by connect.
	applier Applier

	// source is the object that the content comes from; nil when the Release is pinned to a
	// render. Set by findRevision.
	source sources.Object
	// want is what is asked of the fetch coordinator. Set by findRevision.
	want fetch.Want
	// look is what the source said in this pass. Set by findRevision.
	look look
	// oldLook is true when the pass acts on what was found before, because there is no newer
	// answer yet. Set by goesOnWithout.
	oldLook bool
	// trouble is how the pass ends when nothing is left to do in spite of trouble with the source;
	// nil: well. Set by findRevision.
	trouble *outcome
	// revision of the content. Set by findRevision and goesOnWithout, or by loadPinned.
	revision string
	// artifact is the content. Set by fetchArtifact.
	artifact *fetch.Artifact
	// result is what is desired in the target. Set by renderObjects, or by loadPinned.
	result *render.Result
	// rolledBack is true when result and revision are what the Release is rolled back to. Set
	// by rollBack.
	rolledBack bool
	// spared is true when there was no reason for a rollback before the sync. Set by rollBack.
	spared bool
	// requestSpent is true when the pending request was for something else than what is desired
	// now. Set by supersede.
	requestSpent bool
	// run identifies the runs of hooks that belong to this desired state. Set by decide, and
	// by findDeleteHooks.
	run string

	// watchedSince is since when the Release, and its target, are looked at. Set before the first step.
	watchedSince time.Time
	// without says without which hooks the Release is being deleted, and lack why; "" when all are
	// known. Set by findDeleteHooks.
	without, lack string

	// unasked is true when the deletion did not come as far as the target because its Cluster says that
	// it does not answer. Set by findClusterToClean.
	unasked bool
	// leftOut are the objects that a rollback does not bring back, by key, because others have them.
	// Set by rollBack and applyBatch.
	leftOut map[string]leftOut

	// ahead has the keys of entries that this pass brought into the inventory, and whose
	// objects it has not tried to create. Written by writeAhead,
	// startHook and applyBatch.
	ahead map[string]bool

	// untouched has the keys of entries whose objects are in the target as they were applied,
	// by what it said in this pass: nil unless a sync was asked for. Set by writeAhead.
	untouched map[string]bool
	// unwritten is true while inventory says more of what was applied and removed than pages do.
	// Set by setEntries and by each write of the pages.
	unwritten bool

	// awaited are the Releases whose doings decide how this one goes on: those that have what
	// it wants, and those that are to take what it does not want any more. Set before the
	// first step, as the last pass left it, and by await.
	awaited []types.NamespacedName
	// awaitedState tells their present state from others. Set together with awaited.
	awaitedState string
	// moving names objects that left the render and stay until another Release has taken
	// them over. Set by prune.
	moving []string

	// changes counts what the pass did on the target. Written by the steps that apply and
	// prune.
	changes changes
	// pruning names objects whose deletion is under way. Set by prune.
	pruning []string
	// kept names objects that the pass took off the inventory and left in the target, and why.
	// Written by deleteEntries.
	kept []string
	// notices are events beside those that follow from conditions. Written by any step.
	notices []notice
	// wake is the earliest time at which the Release must be looked at without an event, 0:
	// never. Written by wakeIn.
	wake time.Duration
	// finished is true when the Release itself is gone, so that there is no status to write.
	// Set by dropFinalizer.
	finished bool
}

// clusterName names the Release's cluster, see clusterNameOf.
func (s *scope) clusterName() string { return clusterNameOf(s.release) }

// changes counts objects.
type changes struct{ created, configured, unchanged, pruned, failed int }

// notice is an event for people.
type notice struct {
	warning         bool
	reason, message string
}

// wakeIn asks for another pass after d at the latest.
func (s *scope) wakeIn(d time.Duration) {
	if d = max(d, time.Second); s.wake == 0 || d < s.wake {
		s.wake = d
	}
}

// entries are those of the inventory, shared and not to be changed.
func (s *scope) entries() []corev1alpha1.InventoryEntry {
	if s.inventory == nil {
		return nil
	}
	return s.inventory.Spec.Entries
}

// objectEntries are the entries of objects, without those of hooks.
func (s *scope) objectEntries() []corev1alpha1.InventoryEntry {
	return slices.DeleteFunc(slices.Clone(s.entries()), func(e corev1alpha1.InventoryEntry) bool { return e.Hook != "" })
}

// unapplied are the objects of the render that were not applied as they are desired, in
// their order.
func (s *scope) unapplied() []render.Object {
	return inventory.Changed(s.entries(), s.result.Objects)
}

// stale are the entries whose objects are neither rendered nor hooks' any more. What a rollback leaves out
// is none of them: who is in the inventory is given the object when the other Release has it no more.
func (s *scope) stale() []corev1alpha1.InventoryEntry {
	hooks := slices.Concat(s.result.Hooks, s.result.OtherHooks)
	stale := inventory.Stale(s.entries(), inventory.FromObjects(s.result.Objects, hooks))
	return slices.DeleteFunc(stale, func(e corev1alpha1.InventoryEntry) bool { return s.leavesOut(e.ObjectKey) })
}

// sync is the part of the status that tells of attempts; it is made when there is none.
func (s *scope) sync() *corev1alpha1.SyncStatus {
	if s.release.Status.Sync == nil {
		s.release.Status.Sync = &corev1alpha1.SyncStatus{}
	}
	return s.release.Status.Sync
}

// applied is what was last applied as a whole, the zero value when nothing was.
func (s *scope) applied() corev1alpha1.AppliedStatus {
	if s.release.Status.Applied == nil {
		return corev1alpha1.AppliedStatus{}
	}
	return *s.release.Status.Applied
}

// request is a sync that was asked for: the values of the two annotations that have not
// been handled.
type request struct{ plain, force string }

// pendingRequest gives what was asked for and has not been handled.
func pendingRequest(release *corev1alpha1.Release) request {
	pending := request{
		plain: release.Annotations[corev1alpha1.AnnotationSyncRequestedAt],
		force: release.Annotations[corev1alpha1.AnnotationSyncForceRequestedAt],
	}
	handled := release.Status.Sync
	if handled == nil {
		return pending
	}
	if pending.plain == handled.LastHandledAt {
		pending.plain = ""
	}
	if pending.force == handled.LastHandledForceAt {
		pending.force = ""
	}
	return pending
}

func (r request) pending() bool { return r.plain != "" || r.force != "" }

// mark identifies the request, "" for none.
func (r request) mark() string {
	if !r.pending() {
		return ""
	}
	return r.plain + "/" + r.force
}

// at is when the newest part of the request was made, the zero time when there is none or
// it has no time.
func (r request) at() time.Time {
	var newest time.Time
	for _, value := range []string{r.plain, r.force} {
		if at, err := time.Parse(time.RFC3339Nano, value); err == nil && at.After(newest) {
			newest = at
		}
	}
	return newest
}

// age is how long ago that was; ok is false when it is not known.
func (r request) age(now time.Time) (age time.Duration, ok bool) {
	at := r.at()
	return max(now.Sub(at), 0), !at.IsZero()
}
