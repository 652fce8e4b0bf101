// SPDX-License-Identifier: Apache-2.0

// Package target keeps watch over what convoy manages in target clusters: one metadata
// watch per kind and cluster, selected by the owner label, tells which object changed, so
// that no object is ever polled.
package target

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Notify is told of a change to an object of a Release.
type Notify func(release types.NamespacedName)

// Source is a connection to a cluster; a *clusterconn.Connection is one.
type Source interface {
	Metadata() metadata.Interface
	// Outage gives a channel that is closed when the cluster is in reach again, nil while it is.
	Outage() <-chan struct{}
}

// Tracker holds the watches of all clusters. A watch lives as long as a Release needs it.
type Tracker struct {
	installation string
	logger       klog.Logger
	notify       Notify

	mu       sync.Mutex
	stopped  bool
	clusters map[types.NamespacedName]*cluster
	running  sync.WaitGroup
}

// cluster is the watches of one cluster over one connection.
type cluster struct {
	source Source
	kinds  map[schema.GroupVersionResource]*kind
}

// New returns a tracker that works until Stop. notify is called for changes to the objects
// of this installation's Releases, from the watches' goroutines; it must not block.
func New(logger klog.Logger, installation string, notify Notify) *Tracker {
	return &Tracker{installation: installation, logger: logger, notify: notify, clusters: map[types.NamespacedName]*cluster{}}
}

// Track makes sure that these resources of the cluster are watched for the Release over
// source, and that no others are for its sake. When source is another than before, all
// watches of the cluster begin anew over it. catchingUp is true while one of them will soon know
// what there is: then each object need not be asked for. The Release is told when it does.
func (t *Tracker) Track(name types.NamespacedName, source Source, release types.NamespacedName, resources []schema.GroupVersionResource) (catchingUp bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return false
	}
	c := t.clusters[name]
	if c == nil {
		c = &cluster{source: source, kinds: map[schema.GroupVersionResource]*kind{}}
		t.clusters[name] = c
	}
	if c.source != source {
		c.source = source
		for resource, k := range c.kinds {
			k.stop()
			c.kinds[resource] = t.watch(name, source, resource, k.releases)
		}
	}
	for _, resource := range resources {
		if c.kinds[resource] == nil {
			c.kinds[resource] = t.watch(name, source, resource, map[types.NamespacedName]bool{})
		}
		c.kinds[resource].releases[release] = true
		catchingUp = catchingUp || c.kinds[resource].catchingUp()
	}
	t.drop(name, release, resources)
	return catchingUp
}

// drop ends the Release's interest in all resources of a cluster but some.
func (t *Tracker) drop(name, release types.NamespacedName, but []schema.GroupVersionResource) {
	c := t.clusters[name]
	for resource, k := range c.kinds {
		if slices.Contains(but, resource) {
			continue
		}
		delete(k.releases, release)
		if len(k.releases) == 0 {
			k.stop()
			delete(c.kinds, resource)
		}
	}
	if len(c.kinds) == 0 {
		delete(t.clusters, name)
	}
}

// watch begins to watch a resource for Releases.
func (t *Tracker) watch(name types.NamespacedName, source Source, resource schema.GroupVersionResource, releases map[types.NamespacedName]bool) *kind {
	logger := t.logger.WithValues("Cluster", klog.KRef(name.Namespace, name.Name), "resource", resource)
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logger))
	k := newKind(source, resource)
	k.releases, k.stop = releases, stop
	synced, err := k.informer.AddEventHandler(t.handler())
	if err != nil { // only once the informer has stopped
		logger.Error(err, "Watch not started")
		return k
	}
	t.running.Go(func() { k.informer.RunWithContext(ctx) })
	t.running.Go(func() {
		select {
		case <-synced.HasSyncedChecker().Done():
			k.settled.Store(true)
			t.notifyAll(k.informer.GetStore().List())
		case <-ctx.Done():
		}
	})
	return k
}

// handler tells the owners of what changed. What is there when the watch begins is told
// when it has caught up, once for each Release: before that nobody can rely on it.
func (t *Tracker) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			if !isInInitialList {
				t.notifyAll([]any{object})
			}
		},
		UpdateFunc: func(old, current any) {
			if versionOf(old) != versionOf(current) {
				t.notifyAll([]any{old, current}) // the mark of the owner may be what changed
			}
		},
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			t.notifyAll([]any{object})
		},
	}
}

// notifyAll tells the owners of objects, each of them once.
func (t *Tracker) notifyAll(objects []any) {
	told := map[types.NamespacedName]bool{}
	for _, object := range objects {
		seen, ok := object.(*seen)
		if !ok {
			continue
		}
		installation, namespace, name, ok := corev1alpha1.ParseReleaseAnnotation(seen.owner.Value())
		release := types.NamespacedName{Namespace: namespace, Name: name}
		if ok && installation == t.installation && !told[release] {
			told[release] = true
			t.notify(release)
		}
	}
}

// Version is the resourceVersion of an object as the watch last saw it, "" when there is
// none. known is false while there is no watch, or it has not caught up, or it is broken:
// then only a read can tell.
func (t *Tracker) Version(name types.NamespacedName, resource schema.GroupVersionResource, namespace, object string) (version string, known bool) {
	t.mu.Lock()
	var k *kind
	if c := t.clusters[name]; c != nil {
		k = c.kinds[resource]
	}
	t.mu.Unlock()
	if k == nil {
		return "", false
	}
	return k.version(namespace, object)
}

// Forget ends the watches of a cluster.
func (t *Tracker) Forget(name types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.clusters[name]; c != nil {
		for _, k := range c.kinds {
			k.stop()
		}
		delete(t.clusters, name)
	}
}

// ForgetRelease ends the watches that only this Release needed.
func (t *Tracker) ForgetRelease(release types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.clusters {
		t.drop(name, release, nil)
	}
}

// Stop ends all watches and returns when they have ended. No new one begins.
func (t *Tracker) Stop() {
	t.mu.Lock()
	t.stopped = true
	for _, c := range t.clusters {
		for _, k := range c.kinds {
			k.stop()
		}
	}
	t.mu.Unlock()
	t.running.Wait()
}
