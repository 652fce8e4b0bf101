// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// indexReleases of the Release informer: "<namespace>/<name of the Cluster>".
const indexReleases = "convoy/cluster-releases"

func addIndexes(releases Informer) error {
	return releases.AddIndexers(indexers())
}

func indexers() cache.Indexers {
	return cache.Indexers{indexReleases: func(object any) ([]string, error) {
		release, ok := object.(*corev1alpha1.Release)
		if !ok {
			return nil, fmt.Errorf("a Release is expected, got a %T", object)
		}
		return []string{release.Namespace + "/" + release.Spec.ClusterRef.Name}, nil
	}}
}

// count counts the Releases on a cluster.
func (c *Controller) count(key types.NamespacedName) (*corev1alpha1.ClusterReleases, error) {
	objects, err := c.config.Releases.GetIndexer().ByIndex(indexReleases, key.String())
	if err != nil {
		return nil, err
	}
	counts := &corev1alpha1.ClusterReleases{Total: int32(len(objects))}
	for _, object := range objects {
		if release, ok := object.(*corev1alpha1.Release); ok && ready(release) {
			counts.Ready++
		}
	}
	return counts, nil
}
