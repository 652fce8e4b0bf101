// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// kind is the watch of one kind in one cluster.
type kind struct {
	informer cache.SharedIndexInformer
	stop     context.CancelFunc
	// answered is true while the cluster grants what the watch asks for. What an informer
	// holds otherwise is what it saw last, which may be long ago.
	answered atomic.Bool
	// releases are those that need the watch. Guarded by the tracker.
	releases map[types.NamespacedName]bool
}

func newKind(source Source, resource schema.GroupVersionResource) *kind {
	k := &kind{}
	k.informer = cache.NewSharedIndexInformer(k.listWatch(source, resource), &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
	// Neither can fail before the informer runs. A watch that cannot be held (a missing
	// right, a cluster that is away) is tried again by the informer; the conditions of the
	// Cluster tell people why.
	_ = k.informer.SetTransform(slim)
	_ = k.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		klog.FromContext(ctx).V(2).Info("Watch failed", "err", err)
	})
	return k
}

func (k *kind) listWatch(source Source, resource schema.GroupVersionResource) cache.ListerWatcher {
	client := source.Metadata()
	objects := client.Resource(resource)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			k.sitOut(ctx, source)
			options.LabelSelector = corev1alpha1.LabelOwner
			list, err := objects.List(ctx, options)
			k.answered.Store(err == nil)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			k.sitOut(ctx, source)
			options.LabelSelector = corev1alpha1.LabelOwner
			stream, err := objects.Watch(ctx, options)
			k.answered.Store(err == nil)
			return stream, err
		},
	}, client)
}

// sitOut returns when the cluster is in reach. An informer that tried again and again instead
// would wait longer each time, and would still wait when the cluster is back.
func (k *kind) sitOut(ctx context.Context, source Source) {
	over := source.Outage()
	if over == nil {
		return
	}
	k.answered.Store(false)
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// slim keeps of an object what is read here: who owns it, and its version.
func slim(object any) (any, error) {
	partial, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	slimmed := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: partial.Namespace, Name: partial.Name, UID: partial.UID, ResourceVersion: partial.ResourceVersion,
	}}
	if owner, ok := partial.Annotations[corev1alpha1.AnnotationRelease]; ok {
		slimmed.Annotations = map[string]string{corev1alpha1.AnnotationRelease: owner}
	}
	return slimmed, nil
}

func (k *kind) version(namespace, name string) (version string, known bool) {
	if !k.informer.HasSynced() || !k.answered.Load() {
		return "", false
	}
	object, exists, err := k.informer.GetStore().GetByKey(cache.NewObjectName(namespace, name).String())
	if err != nil {
		return "", false
	}
	if !exists {
		return "", true
	}
	return versionOf(object), true
}

func versionOf(object any) string {
	if partial, ok := object.(*metav1.PartialObjectMetadata); ok {
		return partial.ResourceVersion
	}
	return ""
}
