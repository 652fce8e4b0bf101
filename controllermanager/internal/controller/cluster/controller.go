// SPDX-License-Identifier: Apache-2.0

// Package cluster is the controller of Clusters: it finds out at intervals, and whenever the
// circuit breaker of a cluster opens or closes, whether their API servers can be reached,
// accept the credentials and tell what they serve, and counts the Releases on them. What it
// says of a cluster that is out of reach holds the Release controller back.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/internal/controller/base"
)

// Report is what a cluster told of itself.
type Report struct {
	// Version of Kubernetes.
	Version string
	// Server is the URL of the API server; known for a cluster that does not answer too.
	Server string
	// Latency is how long the API server took to answer.
	Latency time.Duration
}

// Prober asks a cluster. It must return within seconds, whatever the cluster does.
type Prober interface {
	Probe(ctx context.Context, cluster *corev1alpha1.Cluster) (Report, error)
	// Unreachable says whether the circuit breaker of a cluster is open: probing it then costs
	// nothing. When that changes, the Cluster is to be enqueued.
	Unreachable(namespace, name string) bool
	// Forget drops what is kept of a Cluster that is gone, or another process's.
	Forget(namespace, name string)
}

// Informer has objects of one kind, and tells of changes.
type Informer interface {
	AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
	AddIndexers(indexers cache.Indexers) error
	GetIndexer() cache.Indexer
}

// Config is what the controller works with.
type Config struct {
	// Client of the convoy API on the host cluster.
	Client versioned.Interface
	// The informers of the host cluster's objects: all of them, or those of some shards, of which
	// the work queue owns no others.
	Clusters, Releases Informer
	// Prober asks clusters.
	Prober Prober
	// References tells of changes of Secrets; nil: they are seen with the next look.
	References References
	// Recorder takes events for people.
	Recorder record.EventRecorder
	// Clock is the time.
	Clock clock.PassiveClock
	// Harness has the settings of the work queue; name and reconciler are the controller's.
	Harness base.Options[types.NamespacedName]
}

// Controller is the controller of Clusters. Its key is the name of the Cluster.
type Controller struct {
	*base.Controller[types.NamespacedName]
	config Config

	secrets secrets

	mu     sync.Mutex
	probes map[types.NamespacedName]probe
}

// probe is the last look of this process at a cluster.
type probe struct {
	uid        types.UID
	generation int64
	at         time.Time
	failed     bool
	// unreachable is what the breaker said before the look.
	unreachable bool
}

// countDelay is how long changes of Releases are gathered before a Cluster counts them.
const countDelay = 2 * time.Second

// New makes the controller and registers its index and event handlers. It must be called
// before the informers start.
func New(config Config) (*Controller, error) {
	c := &Controller{config: config, probes: map[types.NamespacedName]probe{}}
	harness := config.Harness
	harness.Name, harness.Reconciler = "cluster", c
	c.Controller = base.New(harness)
	if err := errors.Join(addIndexes(config.Releases), c.addHandlers(), c.register(harness.Registerer)); err != nil {
		return nil, fmt.Errorf("cluster controller: %w", err)
	}
	return c, nil
}

func (c *Controller) addHandlers() error {
	_, errClusters := c.config.Clusters.AddEventHandler(base.Handler(c, base.Events[*corev1alpha1.Cluster, types.NamespacedName]{
		Keys: base.Single(nameOf),
		Changed: func(old, cluster *corev1alpha1.Cluster) bool {
			return old.UID != cluster.UID || old.Generation != cluster.Generation
		},
	}))
	_, errReleases := c.config.Releases.AddEventHandler(base.Handler(delayed{c}, base.Events[*corev1alpha1.Release, types.NamespacedName]{
		Keys: base.Single(func(release *corev1alpha1.Release) types.NamespacedName {
			return types.NamespacedName{Namespace: release.Namespace, Name: release.Spec.ClusterRef.Name}
		}),
		Changed: func(old, release *corev1alpha1.Release) bool { return ready(old) != ready(release) },
	}))
	return errors.Join(errClusters, errReleases)
}

// delayed gathers the changes of many Releases into one look at their Cluster.
type delayed struct{ controller *Controller }

func (d delayed) Enqueue(key types.NamespacedName, _ base.Priority) {
	d.controller.EnqueueAfter(key, countDelay)
}

func ready(release *corev1alpha1.Release) bool {
	return meta.IsStatusConditionTrue(release.Status.Conditions, corev1alpha1.ConditionReady)
}

// ProbeNow has a cluster looked at as soon as possible, because it did not do as it should
// for a Release.
func (c *Controller) ProbeNow(key types.NamespacedName) {
	c.mu.Lock()
	last, ok := c.probes[key]
	due := ok && !last.failed && c.config.Clock.Since(last.at) >= shortInterval
	if due {
		delete(c.probes, key)
	}
	c.mu.Unlock()
	if due {
		c.Enqueue(key, base.PriorityChange)
	}
}

// EnqueueShard enqueues every Cluster that the given function owns, after a change of what
// this process owns.
func (c *Controller) EnqueueShard(owned func(key types.NamespacedName) bool) {
	for _, cluster := range c.clusters() {
		if key := nameOf(cluster); owned(key) {
			c.Enqueue(key, base.PriorityResync)
		}
	}
}

// DropUnowned ends the work on Clusters that are another process's now, as that of the
// queue does, and forgets them: nobody shall ask after them here any more.
func (c *Controller) DropUnowned() {
	c.Controller.DropUnowned()
	for _, cluster := range c.clusters() {
		if key := nameOf(cluster); !c.owns(key) {
			c.drop(key)
		}
	}
}

func (c *Controller) owns(key types.NamespacedName) bool {
	return c.config.Harness.Owned == nil || c.config.Harness.Owned(key)
}

// drop forgets a Cluster.
func (c *Controller) drop(key types.NamespacedName) {
	c.untrack(key)
	c.discard(key)
	c.config.Prober.Forget(key.Namespace, key.Name)
}

// clusters gives all Clusters that there are.
func (c *Controller) clusters() []*corev1alpha1.Cluster {
	objects := c.config.Clusters.GetIndexer().List()
	clusters := make([]*corev1alpha1.Cluster, 0, len(objects))
	for _, object := range objects {
		if cluster, ok := object.(*corev1alpha1.Cluster); ok {
			clusters = append(clusters, cluster)
		}
	}
	return clusters
}

func nameOf(cluster *corev1alpha1.Cluster) types.NamespacedName {
	return types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
}
