// SPDX-License-Identifier: Apache-2.0

// Package target keeps watch over what convoy manages in target clusters: one metadata
// watch per kind and cluster, selected by the owner label, tells which object changed, so
// that no object is ever polled.
package target

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Notify is told of a change to an object of a Release.
type Notify func(release types.NamespacedName)

// Tracker holds the watches of all clusters.
type Tracker struct {
	installation string
	notify       Notify

	mu       sync.Mutex
	ctx      context.Context
	clusters map[types.NamespacedName]*cluster
	running  sync.WaitGroup
}

// cluster is the watches of one cluster over one connection.
type cluster struct {
	client metadata.Interface
	stop   context.CancelFunc
	ctx    context.Context
	kinds  map[schema.GroupVersionResource]cache.SharedIndexInformer
}

// New returns a tracker that works until ctx is done. notify is called for changes to the
// objects of this installation's Releases, from the watches' goroutines; it must not block.
func New(ctx context.Context, installation string, notify Notify) *Tracker {
	return &Tracker{
		ctx: ctx, installation: installation, notify: notify,
		clusters: map[types.NamespacedName]*cluster{},
	}
}

// Track makes sure that objects of resource in the cluster are watched over client. When
// the cluster's client is another than before, the old watches are ended.
func (t *Tracker) Track(name types.NamespacedName, client metadata.Interface, resource schema.GroupVersionResource) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil {
		return
	}
	c := t.clusters[name]
	if c == nil || c.client != client {
		if c != nil {
			c.stop()
		}
		ctx, stop := context.WithCancel(t.ctx)
		c = &cluster{client: client, ctx: ctx, stop: stop, kinds: map[schema.GroupVersionResource]cache.SharedIndexInformer{}}
		t.clusters[name] = c
	}
	if _, ok := c.kinds[resource]; ok {
		return
	}
	informer := metadatainformer.NewFilteredMetadataInformer(client, resource, metav1.NamespaceAll, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
		func(options *metav1.ListOptions) { options.LabelSelector = corev1alpha1.LabelOwner }).Informer()
	if err := t.prepare(informer, name, resource); err != nil {
		klog.FromContext(t.ctx).Error(err, "watch not started", "Cluster", klog.KRef(name.Namespace, name.Name), "resource", resource)
		return
	}
	c.kinds[resource] = informer
	t.running.Go(func() { informer.RunWithContext(c.ctx) })
}

func (t *Tracker) prepare(informer cache.SharedIndexInformer, name types.NamespacedName, resource schema.GroupVersionResource) error {
	err := informer.SetTransform(func(object any) (any, error) {
		if partial, ok := object.(*metav1.PartialObjectMetadata); ok {
			partial.ManagedFields = nil
		}
		return object, nil
	})
	if err != nil {
		return err
	}
	// A watch that cannot be held (a missing right, an unreachable cluster) is tried again by
	// the informer; the Cluster's own conditions tell people why.
	err = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		klog.FromContext(ctx).V(2).Info("watch failed", "Cluster", klog.KRef(name.Namespace, name.Name), "resource", resource, "err", err)
	})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: t.changed,
		UpdateFunc: func(old, current any) {
			if resourceVersion(old) != resourceVersion(current) {
				t.changed(current)
			}
		},
		DeleteFunc: t.changed,
	})
	return err
}

// changed tells the owner of the object.
func (t *Tracker) changed(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	partial, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	installation, namespace, name, ok := corev1alpha1.ParseReleaseAnnotation(partial.Annotations[corev1alpha1.AnnotationRelease])
	if ok && installation == t.installation {
		t.notify(types.NamespacedName{Namespace: namespace, Name: name})
	}
}

// Version is the resourceVersion of an object as the watch last saw it. known is false
// while the watch has not caught up or does not exist: then only a read can tell.
func (t *Tracker) Version(name types.NamespacedName, resource schema.GroupVersionResource, namespace, object string) (version string, known bool) {
	t.mu.Lock()
	c := t.clusters[name]
	var informer cache.SharedIndexInformer
	if c != nil {
		informer = c.kinds[resource]
	}
	t.mu.Unlock()
	if informer == nil || !informer.HasSynced() {
		return "", false
	}
	key := object
	if namespace != "" {
		key = namespace + "/" + object
	}
	item, exists, err := informer.GetStore().GetByKey(key)
	if err != nil {
		return "", false
	}
	if !exists {
		return "", true
	}
	return resourceVersion(item), true
}

// Forget ends the watches of a cluster.
func (t *Tracker) Forget(name types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.clusters[name]; c != nil {
		c.stop()
		delete(t.clusters, name)
	}
}

// Wait returns when every watch has ended, which they do when the tracker's context does.
func (t *Tracker) Wait() { t.running.Wait() }

func resourceVersion(object any) string {
	if partial, ok := object.(*metav1.PartialObjectMetadata); ok {
		return partial.ResourceVersion
	}
	return ""
}
