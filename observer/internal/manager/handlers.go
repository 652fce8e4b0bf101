// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/shard"
	"kumodo.io/convoy/observer/internal/observer"
)

func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

func addHandler(informer informer, handler cache.ResourceEventHandler) error {
	_, err := informer.AddEventHandler(handler)
	return err
}

// addHandlers says what each change on the host wakes.
func (m *Manager) addHandlers() error {
	extensions := m.informers.Extensions().V1alpha1()
	releases := base.Events[*corev1alpha1.Release, types.NamespacedName]{
		Keys:    base.Single(func(r *corev1alpha1.Release) types.NamespacedName { return nameOf(r) }),
		Changed: releaseChanged,
	}
	inventories := base.Events[*corev1alpha1.ReleaseInventory, types.NamespacedName]{
		Keys: base.Single(observer.ReleaseOf),
		Changed: func(old, current *corev1alpha1.ReleaseInventory) bool {
			return old.UID != current.UID || old.Generation != current.Generation
		},
	}
	clusters := base.Events[*corev1alpha1.Cluster, types.NamespacedName]{
		Keys: func(cluster *corev1alpha1.Cluster) []types.NamespacedName { return m.releasesOn(nameOf(cluster)) },
		Changed: func(old, current *corev1alpha1.Cluster) bool {
			return old.UID != current.UID || old.Generation != current.Generation || old.Status.Server != current.Status.Server ||
				!equality.Semantic.DeepEqual(old.Status.Conditions, current.Status.Conditions)
		},
	}
	sets := base.Events[*extv1alpha1.HealthRuleSet, types.NamespacedName]{
		Keys: base.Single(func(s *extv1alpha1.HealthRuleSet) types.NamespacedName { return nameOf(s) }),
	}
	global := base.Events[*extv1alpha1.GlobalHealthRuleSet, types.NamespacedName]{
		Keys: base.Single(func(s *extv1alpha1.GlobalHealthRuleSet) types.NamespacedName { return nameOf(s) }),
	}
	for _, add := range []error{
		addHandler(m.core.releases, base.Handler(m.healthQueue, releases)),
		addHandler(m.core.releases, base.Handler(m.driftQueue, releases)),
		addHandler(m.core.inventories, base.Handler(m.healthQueue, inventories)),
		addHandler(m.core.inventories, base.Handler(m.driftQueue, inventories)),
		addHandler(m.core.clusters, cache.ResourceEventHandlerFuncs{UpdateFunc: m.clusterMoved}),
		addHandler(m.core.clusters, base.Handler(m.healthQueue, clusters)),
		addHandler(m.core.clusters, base.Handler(m.driftQueue, clusters)),
		addHandler(m.core.clusters, cache.ResourceEventHandlerFuncs{DeleteFunc: m.clusterDeleted}),
		addHandler(extensions.HealthRuleSets().Informer(), base.Handler(m.ruleQueue, sets)),
		addHandler(extensions.GlobalHealthRuleSets().Informer(), base.Handler(m.ruleQueue, global)),
		addHandler(extensions.HealthRuleSets().Informer(), m.rulesChanged()),
		addHandler(extensions.GlobalHealthRuleSets().Informer(), m.rulesChanged()),
	} {
		if add != nil {
			return add
		}
	}
	// The sources are only read, but an informer must exist before the factory starts.
	source := m.informers.Source().V1alpha1()
	source.GitRepositories().Informer()
	source.HelmRegistries().Informer()
	source.OCIRegistries().Informer()
	return nil
}

// releaseChanged leaves out what the observer itself writes: only InSync changed. A source
// that is there again may tell what was applied.
func releaseChanged(old, current *corev1alpha1.Release) bool {
	return old.UID != current.UID || old.Generation != current.Generation ||
		!equality.Semantic.DeepEqual(old.Annotations, current.Annotations) ||
		!equality.Semantic.DeepEqual(old.Status.Applied, current.Status.Applied) ||
		!equality.Semantic.DeepEqual(old.Status.Sync, current.Status.Sync) ||
		!equality.Semantic.DeepEqual(old.Status.Lifecycle, current.Status.Lifecycle) ||
		conditionChanged(old, current, corev1alpha1.ConditionApplied) ||
		conditionChanged(old, current, corev1alpha1.ConditionSourceReady)
}

func conditionChanged(old, current *corev1alpha1.Release, name string) bool {
	find := func(release *corev1alpha1.Release) metav1.Condition {
		for _, condition := range release.Status.Conditions {
			if condition.Type == name {
				return condition
			}
		}
		return metav1.Condition{}
	}
	return find(old) != find(current)
}

// releasesOn are the Releases of a cluster.
func (m *Manager) releasesOn(cluster types.NamespacedName) []types.NamespacedName {
	releases, _ := m.host.Releases.Releases(cluster.Namespace).List(labels.Everything())
	var keys []types.NamespacedName
	for _, release := range releases {
		if release.Spec.ClusterRef.Name == cluster.Name {
			keys = append(keys, nameOf(release))
		}
	}
	return keys
}

// clusterMoved has the Secrets of a Cluster read again whose controller has found another server
// in them: the old one may go on answering, and what it says is not true of the new one.
func (m *Manager) clusterMoved(old, current any) {
	before, ok := old.(*corev1alpha1.Cluster)
	after, ok2 := current.(*corev1alpha1.Cluster)
	if ok && ok2 && before.Status.Server != after.Status.Server {
		m.host.Connector.Recheck(after.Namespace, after.Name)
	}
}

func (m *Manager) clusterDeleted(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if cluster, ok := object.(*corev1alpha1.Cluster); ok {
		m.host.Tracker.Forget(nameOf(cluster))
		m.host.Connector.Forget(cluster.Namespace, cluster.Name)
	}
}

// rulesChanged has health judged again when rules come, change or go.
func (m *Manager) rulesChanged() cache.ResourceEventHandler {
	again := func(object any) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		set, ok := object.(metav1.Object)
		if !ok {
			return
		}
		releases, err := m.host.Releases.Releases(set.GetNamespace()).List(labels.Everything())
		if set.GetNamespace() == "" {
			releases, err = m.host.Releases.List(labels.Everything())
		}
		if err != nil {
			klog.Background().Error(err, "Releases not listed")
		}
		for _, release := range releases {
			m.healthQueue.Enqueue(nameOf(release), base.PriorityChange)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: again,
		UpdateFunc: func(old, current any) {
			before, ok := old.(metav1.Object)
			after, ok2 := current.(metav1.Object)
			if ok && ok2 && before.GetGeneration() != after.GetGeneration() {
				again(current)
			}
		},
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			if set, ok := object.(metav1.Object); ok {
				m.rules.Forget(set.GetUID())
			}
			again(object)
		},
	}
}

// forgetUnowned drops what is kept of clusters and Releases that are another process's now:
// it is of no use, and the watches would go on.
func (m *Manager) forgetUnowned() {
	clusters, err := m.host.Clusters.List(labels.Everything())
	if err != nil {
		klog.Background().Error(err, "Clusters not listed")
	}
	for _, cluster := range clusters {
		if !m.works(shard.ClusterKey(cluster.Namespace, cluster.Name)) {
			m.clusterDeleted(cluster)
		}
	}
	releases, err := m.host.Releases.List(labels.Everything())
	if err != nil {
		klog.Background().Error(err, "Releases not listed")
	}
	for _, release := range releases {
		if !m.owned(nameOf(release)) {
			m.health.Forget(nameOf(release))
			m.drift.Forget(nameOf(release))
		}
	}
}

// enqueueGained takes up the Releases of shards that this process has got.
func (m *Manager) enqueueGained(gained ...int) {
	releases, err := m.host.Releases.List(labels.Everything())
	if err != nil {
		klog.Background().Error(err, "Releases not listed")
	}
	mine := map[int]bool{}
	for _, one := range gained {
		mine[one] = true
	}
	for _, release := range releases {
		if mine[shard.Of(shard.ReleaseKey(release.Namespace, release.Spec.ClusterRef.Name), m.shards.Shards())] {
			m.enqueue(nameOf(release), base.PriorityResync)
		}
	}
}
