// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/sources"
)

// enqueuer takes the keys of Releases.
type enqueuer = base.Enqueuer[types.NamespacedName]

// addHandlers registers what enqueues Releases, and what drops what is remembered of them.
func (c *Controller) addHandlers() error {
	var errs []error
	add := func(informer handled, handler cache.ResourceEventHandler) {
		_, err := informer.AddEventHandler(handler)
		errs = append(errs, err)
	}
	add(c.config.Releases, c.latestReleases.onInformed())
	add(c.config.Inventories, c.latestInventories.onInformed())
	add(c.config.Releases, c.onRelease(c))
	add(c.config.Releases, c.onProgress(c))
	add(c.config.Releases, c.onDependency(c))
	add(c.config.Inventories, c.onInventory(c))
	add(c.config.Releases, c.onAwaitedRelease(c))
	add(c.config.Inventories, c.onAwaitedInventory(c))
	add(c.config.Clusters, c.onCluster(c))
	add(c.config.GitRepositories, c.onSource(c, sources.KindGitRepository))
	add(c.config.HelmRegistries, c.onSource(c, sources.KindHelmRegistry))
	add(c.config.OCIRegistries, c.onSource(c, sources.KindOCIRegistry))
	if elsewhere := c.config.Elsewhere; elsewhere != nil {
		add(elsewhere, c.onProgress(c))
		add(elsewhere, c.onDependency(c))
		add(elsewhere, c.onAwaitedRelease(c))
	}
	return errors.Join(errs...)
}

// handled is what tells handlers of changes.
type handled interface {
	AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
}

// never is for what enqueues other Releases: at a resync each comes by itself.
func never[T any](T) bool { return false }

// onRelease enqueues a Release when its own input changes: the spec, a request for a sync,
// what people and the observer say of hooks and gates. What this controller writes into
// the status is no input.
func (c *Controller) onRelease(queue enqueuer) cache.ResourceEventHandler {
	return base.Handler(queue, base.Events[*corev1alpha1.Release, types.NamespacedName]{
		Keys:    base.Single(func(release *corev1alpha1.Release) types.NamespacedName { return nameOf(release) }),
		Changed: inputChanged,
		Priority: func(old, release *corev1alpha1.Release) base.Priority {
			if old != nil && requestChanged(old, release) {
				return base.PriorityRequest
			}
			return base.PriorityChange
		},
	})
}

func inputChanged(old, release *corev1alpha1.Release) bool {
	return old.UID != release.UID || old.Generation != release.Generation || requestChanged(old, release) ||
		old.DeletionTimestamp.IsZero() != release.DeletionTimestamp.IsZero() ||
		old.Annotations[corev1alpha1.AnnotationOrphanAfter] != release.Annotations[corev1alpha1.AnnotationOrphanAfter] ||
		!equality.Semantic.DeepEqual(old.Status.Lifecycle, release.Status.Lifecycle)
}

func requestChanged(old, release *corev1alpha1.Release) bool {
	return old.Annotations[corev1alpha1.AnnotationSyncRequestedAt] != release.Annotations[corev1alpha1.AnnotationSyncRequestedAt] ||
		old.Annotations[corev1alpha1.AnnotationSyncForceRequestedAt] != release.Annotations[corev1alpha1.AnnotationSyncForceRequestedAt]
}

// onProgress enqueues those that wait for a Release: the ones of a higher wave on its
// cluster and the ones that depend on it.
func (c *Controller) onProgress(queue enqueuer) cache.ResourceEventHandler {
	return base.Handler(queue, base.Events[*corev1alpha1.Release, types.NamespacedName]{
		Keys:    c.waiting,
		Changed: progressChanged,
		Resync:  never[*corev1alpha1.Release],
	})
}

// onDependency enqueues those whose expressions are about a Release: whatever changes of it may
// make them true.
func (c *Controller) onDependency(queue enqueuer) cache.ResourceEventHandler {
	return base.Handler(queue, base.Events[*corev1alpha1.Release, types.NamespacedName]{Keys: c.asking, Resync: never[*corev1alpha1.Release]})
}

func progressChanged(old, release *corev1alpha1.Release) bool {
	return conditionChanged(old.Status.Conditions, release.Status.Conditions, corev1alpha1.ConditionApplied) ||
		conditionChanged(old.Status.Conditions, release.Status.Conditions, corev1alpha1.ConditionHealthy) ||
		old.UID != release.UID || old.Generation != release.Generation ||
		readyChanged(old.Status.Conditions, release.Status.Conditions) || // the cause that is told
		appliedRevision(old) != appliedRevision(release) ||
		old.DeletionTimestamp.IsZero() != release.DeletionTimestamp.IsZero()
}

// conditionChanged compares what others decide by: status and generation, not the text.
func conditionChanged(old, current []metav1.Condition, conditionType string) bool {
	a, b := meta.FindStatusCondition(old, conditionType), meta.FindStatusCondition(current, conditionType)
	if a == nil || b == nil {
		return a != b
	}
	return a.Status != b.Status || a.ObservedGeneration != b.ObservedGeneration
}

func appliedRevision(release *corev1alpha1.Release) string {
	if release.Status.Applied == nil {
		return ""
	}
	return release.Status.Applied.Revision
}

// waiting gives the Releases that may be waiting for this one.
func (c *Controller) waiting(release *corev1alpha1.Release) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, other := range c.otherWaves(release) {
		if other.Spec.Wave > release.Spec.Wave {
			keys = append(keys, nameOf(other))
		}
	}
	for _, other := range c.indexed(indexDependency, release.Namespace+"/"+release.Name) {
		keys = append(keys, nameOf(other))
	}
	return keys
}

// asking gives the Releases with a readyExpr about this one.
func (c *Controller) asking(release *corev1alpha1.Release) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, other := range c.indexed(indexDependency, release.Namespace+"/"+release.Name) {
		if slices.ContainsFunc(other.Spec.DependsOn, func(d corev1alpha1.Dependency) bool {
			return d.Name == release.Name && d.ReadyExpr != ""
		}) {
			keys = append(keys, nameOf(other))
		}
	}
	return keys
}

// onInventory enqueues the Release of an inventory whose health changed, or that was
// deleted. At a resync, only one that is gone has nothing else that enqueues it.
func (c *Controller) onInventory(queue enqueuer) cache.ResourceEventHandler {
	return base.Handler(queue, base.Events[*corev1alpha1.ReleaseInventory, types.NamespacedName]{
		Keys:    base.Single(releaseOf),
		Changed: healthChanged,
		Resync: func(page *corev1alpha1.ReleaseInventory) bool {
			release := releaseOf(page)
			return c.cachedRelease(release.Namespace, release.Name) == nil
		},
	})
}

// releaseOf is the name of the Release that a page of an inventory is of.
func releaseOf(page *corev1alpha1.ReleaseInventory) types.NamespacedName {
	return types.NamespacedName{Namespace: page.Namespace, Name: cmp.Or(page.Spec.ReleaseRef.Name, page.Name)}
}

func healthChanged(old, inventory *corev1alpha1.ReleaseInventory) bool {
	return old.UID != inventory.UID || old.DeletionTimestamp.IsZero() != inventory.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(old.Status, inventory.Status)
}

// onCluster enqueues the Releases of a cluster whose spec or reachability changed.
func (c *Controller) onCluster(queue enqueuer) cache.ResourceEventHandler {
	return base.Handler(queue, base.Events[*corev1alpha1.Cluster, types.NamespacedName]{
		Keys: func(cluster *corev1alpha1.Cluster) []types.NamespacedName {
			return names(c.indexed(indexCluster, cluster.Namespace+"/"+cluster.Name))
		},
		Changed: func(old, cluster *corev1alpha1.Cluster) bool {
			return old.UID != cluster.UID || old.Generation != cluster.Generation ||
				readyChanged(old.Status.Conditions, cluster.Status.Conditions)
		},
		Resync: never[*corev1alpha1.Cluster],
	})
}

// onSource enqueues the Releases that draw on a source whose spec or reachability changed.
func (c *Controller) onSource(queue enqueuer, sourceKind string) cache.ResourceEventHandler {
	return base.Handler(queue, base.Events[sources.Object, types.NamespacedName]{
		Keys: func(source sources.Object) []types.NamespacedName {
			reference := sources.Reference{Kind: sourceKind, Name: source.GetName()}
			return names(c.indexed(indexSource, sourceIndexKey(reference, source.GetNamespace())))
		},
		Changed: func(old, source sources.Object) bool {
			return old.GetUID() != source.GetUID() || old.GetGeneration() != source.GetGeneration() ||
				readyChanged(sources.Conditions(old), sources.Conditions(source))
		},
		Resync: never[sources.Object],
	})
}

// readyChanged tells whether Ready says something else, or for another reason.
func readyChanged(old, current []metav1.Condition) bool {
	a, b := meta.FindStatusCondition(old, corev1alpha1.ConditionReady), meta.FindStatusCondition(current, corev1alpha1.ConditionReady)
	if a == nil || b == nil {
		return a != b
	}
	return a.Status != b.Status || a.Reason != b.Reason
}

func names(releases []*corev1alpha1.Release) []types.NamespacedName {
	keys := make([]types.NamespacedName, len(releases))
	for i, release := range releases {
		keys[i] = nameOf(release)
	}
	return keys
}
