// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/internal/compact"
	"kumodo.io/convoy/internal/shard"
)

// Host has what is in some shards of the host cluster: the Clusters, their Releases and the
// inventories of these.
type Host struct {
	*Set
	Releases, Inventories, Clusters *Cache[int]
}

// NewHost makes a Host that holds no shard. Each object is told of every resync, 0: never.
func NewHost(client versioned.Interface, resync time.Duration) *Host {
	core, transform := client.CoreV1alpha1(), compact.Transform()
	of := func(name string, example runtime.Object, list listFunc, watch watchFunc) *Cache[int] {
		return New(Options[int]{Name: name, Example: example, Transform: transform, Resync: resync, ListWatch: func(n int) cache.ListerWatcher {
			selector := labels.Set{corev1alpha1.LabelShard: shard.Label(n)}.String()
			return listWatch(client, list, watch, func(o *metav1.ListOptions) { o.LabelSelector = selector })
		}})
	}
	h := &Host{
		Releases:    of("Release", &corev1alpha1.Release{}, asList(core.Releases("").List), core.Releases("").Watch),
		Inventories: of("ReleaseInventory", &corev1alpha1.ReleaseInventory{}, asList(core.ReleaseInventories("").List), core.ReleaseInventories("").Watch),
		Clusters:    of("Cluster", &corev1alpha1.Cluster{}, asList(core.Clusters("").List), core.Clusters("").Watch),
	}
	h.Set = newSet(h.Clusters, h.Inventories, h.Releases)
	return h
}

// NewReleases makes a Cache of single Releases.
func NewReleases(client versioned.Interface) *Cache[types.NamespacedName] {
	return New(Options[types.NamespacedName]{
		Name: "Release", Example: &corev1alpha1.Release{}, Transform: compact.Transform(),
		ListWatch: func(name types.NamespacedName) cache.ListerWatcher {
			releases := client.CoreV1alpha1().Releases(name.Namespace)
			selector := fields.OneTermEqualSelector(metav1.ObjectNameField, name.Name).String()
			return listWatch(client, asList(releases.List), releases.Watch, func(o *metav1.ListOptions) { o.FieldSelector = selector })
		},
	})
}

type (
	listFunc  func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	watchFunc func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
)

func asList[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) listFunc {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	}
}

// listWatch lists and watches what narrow selects. What whoever had a shard before has written
// is in the first list: it is not one that a server has in memory and that may be behind.
func listWatch(client any, list listFunc, watched watchFunc, narrow func(*metav1.ListOptions)) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			narrow(&options)
			if options.ResourceVersion == "0" {
				options.ResourceVersion = ""
			}
			return list(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			narrow(&options)
			return watched(ctx, options)
		},
	}, client)
}
