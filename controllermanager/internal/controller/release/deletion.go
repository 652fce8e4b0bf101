// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
)

// deleting waits during a deletion; the summary says for what.
func deleting(reason, message string) outcome {
	return wait(corev1alpha1.ConditionReady, reason, message)
}

// ways are the ways out of a deletion that cannot go on.
const ways = "it goes on by itself when that is mended; spec.deletionPolicy: orphan gives the objects up instead"

// dropIfEmpty ends the deletion of a Release that has nothing on its target and no hooks to run
// around its deletion, or that is another's to end.
func (c *Controller) dropIfEmpty(ctx context.Context, s *scope) outcome {
	if !slices.Contains(s.release.Finalizers, corev1alpha1.FinalizerRelease) {
		return deleting(corev1alpha1.ReasonDeleting, "waiting for the finalizers of others: "+listed(s.release.Finalizers, ", "))
	}
	if len(s.entries()) > 0 || s.inventory != nil && (s.hasDeleteHooks() || s.applied().DeleteHooks > 0 && !c.orphans(s)) {
		return next()
	}
	if s.inventory == nil && s.applied().Objects > 0 {
		c.noteLost(ctx, s)
	}
	return c.dropFinalizer(ctx, s)
}

// noteLost tells of a deletion without the inventory of what was applied: somebody took its
// finalizer off. A process that died right before it would have dropped the finalizer of the
// Release leaves the same state, with nothing on the target. A cache that has not heard of the
// end yet is told apart.
func (c *Controller) noteLost(ctx context.Context, s *scope) {
	_, err := c.config.Client.CoreV1alpha1().Releases(s.key.Namespace).Get(ctx, s.key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	text := fmt.Sprintf("the inventory of Release %s is gone: objects whose annotation %s ends in /%s may be left on Cluster %s",
		s.key, corev1alpha1.AnnotationRelease, s.key, s.release.Spec.ClusterRef.Name)
	klog.FromContext(ctx).Info("Release ends without its inventory", "message", text)
	s.notices = append(s.notices, notice{warning: true, reason: "Orphaned", message: text})
}

// hasDeleteHooks tells whether a deletion with hooks has begun, whose postDelete hooks may
// be yet to run when the inventory is empty already. It is gone only when they have: the
// first hook was in it. To begin anew then would leave an inventory that nobody ends.
func (s *scope) hasDeleteHooks() bool {
	return s.release.Status.Lifecycle != nil && slices.ContainsFunc(s.release.Status.Lifecycle.Hooks,
		func(status corev1alpha1.HookStatus) bool { return status.Run == deleteRun })
}

// findClusterToClean finds the Cluster, which must be there and in use.
func (c *Controller) findClusterToClean(ctx context.Context, s *scope) outcome {
	name := s.release.Spec.ClusterRef.Name
	var err error
	if s.cluster, err = c.clusterToClean(ctx, s); err != nil {
		return abort(err)
	}
	if s.cluster == nil {
		return c.cannotClean(ctx, s, corev1alpha1.ReasonClusterNotFound, fmt.Errorf("Cluster %s does not exist", name))
	}
	if c.orphans(s) {
		return next()
	}
	if s.cluster.Spec.Suspend {
		return deleting(corev1alpha1.ReasonClusterSuspended, fmt.Sprintf(
			"%s on Cluster %s, which is suspended: %s", s.remaining(), name, ways))
	}
	if said, out := outOfReach(s.cluster); out && !s.lastTry() {
		s.unasked = true
		return deleting(corev1alpha1.ReasonTargetUnreachable, fmt.Sprintf(
			"%s on Cluster %s, which %s: %s", s.remaining(), name, said, ways))
	}
	return next()
}

// clusterToClean gives the Cluster of a deleted Release, nil when it is gone. Where all go
// together with their namespace, the Cluster as it was last seen serves until the end.
func (c *Controller) clusterToClean(ctx context.Context, s *scope) (*corev1alpha1.Cluster, error) {
	cluster, err := c.clusterOfRelease(ctx, s.release)
	if err != nil {
		return nil, err
	}
	if cluster != nil {
		c.lastClusters.keep(s.key, cluster)
		return cluster, nil
	}
	last := c.lastClusters.get(s.key)
	if last == nil {
		return nil, nil
	}
	terminating, err := c.config.Namespaces.Terminating(ctx, s.key.Namespace)
	if err != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", s.key.Namespace, err)
	}
	if !terminating {
		return nil, nil
	}
	return last, nil
}

// connectToClean connects to the target.
func (c *Controller) connectToClean(ctx context.Context, s *scope) outcome {
	if err := c.open(ctx, s); err != nil {
		return c.cannotClean(ctx, s, targetReason(err), err)
	}
	return c.tryReach(ctx, s)
}

// cannotClean deals with a target that there is no connection to. Objects that are given
// up are left with their marks. Where everything goes together with its namespace, nothing
// will ever mend the connection: then they are given up too, and people are told.
func (c *Controller) cannotClean(ctx context.Context, s *scope, reason string, cause error) outcome {
	if c.orphans(s) {
		return c.giveUp(ctx, s, cause)
	}
	if reason == corev1alpha1.ReasonClusterNotFound || reason == corev1alpha1.ReasonSecretNotFound {
		terminating, err := c.config.Namespaces.Terminating(ctx, s.key.Namespace)
		if err != nil {
			return abort(fmt.Errorf("reading namespace %s: %w", s.key.Namespace, err))
		}
		if terminating {
			return c.giveUp(ctx, s, cause)
		}
	}
	out := fail(corev1alpha1.ConditionReady, reason, cause)
	out.message = fmt.Sprintf("%s, and cannot be deleted: %v; %s", s.remaining(), cause, ways)
	return out
}

func (c *Controller) orphans(s *scope) bool {
	return s.release.Spec.DeletionPolicy == corev1alpha1.DeletionPolicyOrphan
}

// giveUp ends the deletion with objects left behind, still marked.
func (c *Controller) giveUp(ctx context.Context, s *scope, cause error) outcome {
	left := whatStays(s.entries())
	// The event may come to nothing in a namespace that is being deleted.
	klog.FromContext(ctx).Info("Objects are left in the target cluster", "objects", left, "cause", cause)
	c.tell(s, notice{warning: true, reason: "Orphaned", message: fmt.Sprintf(
		"left in the cluster with the marks of this Release: %s; %v", left, cause)})
	return c.dropFinalizer(ctx, s)
}

// maxStaying is how many objects are named that nobody knows of from then on.
const maxStaying = 50

// whatStays names what is left behind, for people who have to look for it.
func whatStays(entries []corev1alpha1.InventoryEntry) string {
	names := entryNames(entries)
	if len(names) > maxStaying {
		names = append(names[:maxStaying], fmt.Sprintf("and %d more", len(names)-maxStaying))
	}
	return strings.Join(names, ", ")
}

// orphanAttempts is how often marks are tried to be taken off before they are left.
const orphanAttempts = 3

// orphan takes the marks of a Release off its objects when they are to stay, and ends the
// deletion. A target that cannot be reached holds nothing up: the objects keep their marks.
func (c *Controller) orphan(ctx context.Context, s *scope) outcome {
	if !c.orphans(s) {
		return next()
	}
	var kept []corev1alpha1.InventoryEntry
	for _, result := range s.applier.Orphan(ctx, s.entries()) {
		switch {
		case result.Done():
			kept = append(kept, result.Entry)
		case cannotPass(result.Err), s.sync().Attempts >= orphanAttempts:
			return c.giveUp(ctx, s, orphanError(result))
		default:
			out := fail(corev1alpha1.ConditionReady, orphanReason(result.Err), orphanError(result))
			out.message = "taking the marks of this Release off its objects: " + out.message
			return out
		}
	}
	c.tell(s, notice{reason: "Orphaned", message: "left in the cluster: " + whatStays(kept)})
	return c.dropFinalizer(ctx, s)
}

// cannotPass tells errors that do not pass by themselves, or not soon.
func cannotPass(err error) bool {
	return errors.Is(err, clusterconn.ErrUnreachable) || errors.Is(err, clusterconn.ErrUnauthenticated) ||
		errors.Is(err, clusterconn.ErrForbidden) || errors.Is(err, clusterconn.ErrInvalid)
}

func orphanError(result apply.PruneResult) error {
	if result.Err == nil {
		return fmt.Errorf("%s: %s", objectName(result.Entry.ObjectKey), result.Message)
	}
	return fmt.Errorf("%s: %w", objectName(result.Entry.ObjectKey), result.Err)
}

func orphanReason(err error) string {
	if err == nil {
		return corev1alpha1.ReasonDeleting
	}
	return apply.Reason(err)
}

// deleteObjects deletes what the Release applied, in the reverse of the order of applying, but for
// what its postDelete hooks cannot run without, and what waits for objects of hooks.
func (c *Controller) deleteObjects(ctx context.Context, s *scope) outcome {
	return c.deleteInWaves(ctx, s, inventory.Without(s.objectEntries(), slices.Concat(s.postDeleteNeeds(), s.aroundHooks())...))
}

// deleteHookObjects deletes what the hooks left, and what they needed.
func (c *Controller) deleteHookObjects(ctx context.Context, s *scope) outcome {
	return c.deleteInWaves(ctx, s, s.entries())
}

func (c *Controller) deleteInWaves(ctx context.Context, s *scope, entries []corev1alpha1.InventoryEntry) outcome {
	if len(entries) == 0 {
		return next()
	}
	if err := c.noteDeletion(ctx, s); err != nil {
		return abort(err)
	}
	left, err := c.deleteWaves(ctx, s, entries, s.applier.Prune)
	switch {
	case err != nil:
		out := fail(corev1alpha1.ConditionReady, pruneReason(err), err)
		out.message = fmt.Sprintf("%s: %v; %s", s.remaining(), err, ways)
		return out
	case len(left) > 0:
		out := deleting(corev1alpha1.ReasonDeleting, fmt.Sprintf("%s: waiting for %s", s.remaining(), listed(left, ", ")))
		out.after = deletionPoll
		return out
	}
	return next()
}

// remaining says how much is left to be removed.
func (s *scope) remaining() string {
	return isAre(len(s.entries()), "object") + " left"
}

// dropFinalizer ends the deletion: first the inventory goes, which is empty or given up,
// then the Release. What others write to the Release in between does not stop it half-way: a
// Release without its inventory is one that has lost it.
func (c *Controller) dropFinalizer(ctx context.Context, s *scope) outcome {
	if err := c.dropInventory(ctx, s); err != nil {
		return abort(err)
	}
	for tries := 0; ; tries++ {
		finalizers := slices.DeleteFunc(slices.Clone(s.release.Finalizers),
			func(f string) bool { return f == corev1alpha1.FinalizerRelease })
		err := c.patchFinalizers(ctx, s, finalizers)
		if err == nil || apierrors.IsNotFound(err) {
			s.finished = true
			return outcome{kind: completes}
		}
		current, getErr := c.config.Client.CoreV1alpha1().Releases(s.key.Namespace).Get(ctx, s.key.Name, metav1.GetOptions{})
		if !apierrors.IsConflict(err) || tries == maxStatusTries || getErr != nil || current.UID != s.release.UID {
			return abort(err)
		}
		s.release.ObjectMeta = current.ObjectMeta
	}
}

func entryNames(entries []corev1alpha1.InventoryEntry) []string {
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = objectName(entry.ObjectKey)
	}
	return names
}
