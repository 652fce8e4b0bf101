// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
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
	// begun is when the watch began; settled is true when it has caught up, or could not.
	begun   time.Time
	settled atomic.Bool
	// releases are those that need the watch. Guarded by the tracker.
	releases map[types.NamespacedName]bool
}

func newKind(source Source, resource schema.GroupVersionResource) *kind {
	k := &kind{begun: time.Now()}
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
			list, err := list(ctx, objects)
			k.heard(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			k.sitOut(ctx, source)
			options.LabelSelector = corev1alpha1.LabelOwner
			stream, err := objects.Watch(ctx, options)
			k.heard(err)
			return stream, err
		},
	}, client)
}

const (
	// listPage is how many objects one answer has at most. The informer would ask for all at once,
	// as what is in a server's cache is not given by pages.
	listPage = 500
	// maxPages is how many answers there may be, of which all objects are kept.
	maxPages = 400
)

// list lists all objects that have an owner, page by page, without what slim leaves out. A list
// that does not end is an error.
func list(ctx context.Context, objects metadata.ResourceInterface) (*metav1.PartialObjectMetadataList, error) {
	all := &metav1.PartialObjectMetadataList{}
	options := metav1.ListOptions{LabelSelector: corev1alpha1.LabelOwner, Limit: listPage}
	for range maxPages {
		page, err := objects.List(ctx, options)
		if err != nil {
			return nil, err
		}
		all.ListMeta = page.ListMeta
		for i := range page.Items {
			all.Items = append(all.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Namespace: page.Items[i].Namespace, Name: page.Items[i].Name, ResourceVersion: page.Items[i].ResourceVersion,
				Annotations: map[string]string{corev1alpha1.AnnotationRelease: page.Items[i].Annotations[corev1alpha1.AnnotationRelease]},
			}})
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return all, nil
		}
	}
	return nil, fmt.Errorf("the list has not ended after %d pages of %d objects", maxPages, listPage)
}

// heard notes how the cluster answered.
func (k *kind) heard(err error) {
	k.answered.Store(err == nil)
	if err != nil {
		k.settled.Store(true)
	}
}

// catchUpTime is how long a watch may take to catch up before nobody waits for it.
const catchUpTime = 15 * time.Second

// catchingUp tells that the watch will soon know what there is.
func (k *kind) catchingUp() bool { return !k.settled.Load() && time.Since(k.begun) < catchUpTime }

// sitOut returns when the cluster is in reach. An informer that tried again and again instead
// would wait longer each time, and would still wait when the cluster is back.
func (k *kind) sitOut(ctx context.Context, source Source) {
	over := source.Outage()
	if over == nil {
		return
	}
	k.answered.Store(false)
	k.settled.Store(true)
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// seen is what is kept of an object, of which there are many: who owns it, and its version.
type seen struct {
	key     string // namespace and name, the same text as the cache's
	version string
	owner   unique.Handle[string]
}

// GetObjectMeta gives what a cache asks for, and nothing else: a name that is the key as it is,
// and the version.
func (s *seen) GetObjectMeta() metav1.Object { return keyed{seen: s} }

type keyed struct {
	metav1.Object // not there
	*seen
}

func (k keyed) GetNamespace() string       { return "" }
func (k keyed) GetName() string            { return k.key }
func (k keyed) GetResourceVersion() string { return k.version }

func slim(object any) (any, error) {
	partial, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &seen{
		key:     cache.MetaObjectToName(partial).String(),
		version: partial.ResourceVersion,
		owner:   unique.Make(partial.Annotations[corev1alpha1.AnnotationRelease]),
	}, nil
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
	if seen, ok := object.(*seen); ok {
		return seen.version
	}
	return ""
}
