// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"

	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/sources"
)

// Indexes of the Release informer.
const (
	// indexCluster: "<namespace>/<name of the Cluster>".
	indexCluster = "convoy/cluster"
	// indexWave: "<namespace>/<name of the Cluster>", of Releases whose wave is not 0.
	indexWave = "convoy/wave"
	// indexDependency: "<namespace>/<name of a Release in spec.dependsOn>".
	indexDependency = "convoy/dependency"
	// indexSource: "<kind>/<namespace>/<name>" of every source object drawn on.
	indexSource = "convoy/source"
)

func addIndexes(releases Informer) error {
	return releases.AddIndexers(indexers())
}

func indexers() cache.Indexers {
	return cache.Indexers{
		indexCluster: func(object any) ([]string, error) {
			release, err := asRelease(object)
			if err != nil {
				return nil, err
			}
			return []string{clusterNameOf(release)}, nil
		},
		indexWave: func(object any) ([]string, error) {
			release, err := asRelease(object)
			if err != nil || release.Spec.Wave == 0 {
				return nil, err
			}
			return []string{clusterNameOf(release)}, nil
		},
		indexDependency: func(object any) ([]string, error) {
			release, err := asRelease(object)
			if err != nil {
				return nil, err
			}
			var keys []string
			for _, dependency := range release.Spec.DependsOn {
				keys = append(keys, release.Namespace+"/"+dependency.Name)
			}
			return keys, nil
		},
		indexSource: func(object any) ([]string, error) {
			release, err := asRelease(object)
			if err != nil {
				return nil, err
			}
			var keys []string
			for _, reference := range sources.ReferencesOf(release) {
				keys = append(keys, sourceIndexKey(reference, release.Namespace))
			}
			return keys, nil
		},
	}
}

func sourceIndexKey(reference sources.Reference, namespace string) string {
	return reference.Kind + "/" + namespace + "/" + reference.Name
}

func asRelease(object any) (*corev1alpha1.Release, error) {
	release, ok := object.(*corev1alpha1.Release)
	if !ok {
		return nil, fmt.Errorf("a Release is expected, got a %T", object)
	}
	return release, nil
}

// indexed gives the Releases under a key of an index, shared and not to be changed.
func (c *Controller) indexed(index, key string) []*corev1alpha1.Release {
	objects, err := c.releases.ByIndex(index, key)
	if err != nil {
		return nil // the index is registered by New
	}
	found := make([]*corev1alpha1.Release, 0, len(objects))
	for _, object := range objects {
		if release, ok := object.(*corev1alpha1.Release); ok {
			found = append(found, release)
		}
	}
	return found
}

func (c *Controller) cachedRelease(namespace, name string) *corev1alpha1.Release {
	object, exists, err := c.releases.GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return nil
	}
	release, _ := object.(*corev1alpha1.Release)
	return release
}

func (c *Controller) cachedInventory(namespace, name string) *corev1alpha1.ReleaseInventory {
	object, exists, err := c.inventories.GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return nil
	}
	inventory, _ := object.(*corev1alpha1.ReleaseInventory)
	return inventory
}
