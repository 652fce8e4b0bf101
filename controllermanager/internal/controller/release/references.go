// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/references"
	"kumodo.io/convoy/internal/sources"
)

// References has Releases enqueued when ConfigMaps and Secrets change that they refer to.
type References interface {
	// Track has changes of the objects, from now on, enqueue the Release, and no others. The
	// state that it gives is the same while they are.
	Track(ctx context.Context, release types.NamespacedName, objects []references.Object) (state string)
	Forget(release types.NamespacedName)
}

// track has a Release enqueued when something changes that it refers to, and gives the state
// of that. It goes before everything that reads.
func (c *Controller) track(ctx context.Context, release *corev1alpha1.Release) string {
	if c.config.References == nil {
		return ""
	}
	return c.config.References.Track(ctx, nameOf(release), c.referredTo(release))
}

// referredTo gives what a pass reads of ConfigMaps and Secrets: what its values come from,
// and the Secrets of its Cluster and of its sources. Those of registries that a chart depends
// on are not among them.
func (c *Controller) referredTo(release *corev1alpha1.Release) []references.Object {
	objects := references.OfRelease(release)
	if cluster := c.cachedCluster(release.Namespace, release.Spec.ClusterRef.Name); cluster != nil {
		objects = references.Append(objects, references.OfCluster(cluster)...)
	}
	for _, reference := range sources.ReferencesOf(release) {
		if source, err := c.config.Sources.Find(release.Namespace, reference); err == nil {
			objects = references.Append(objects, references.OfSource(source)...)
		}
	}
	return objects
}

// forgetReferences ends what track began.
func (c *Controller) forgetReferences(key types.NamespacedName) {
	if c.config.References != nil {
		c.config.References.Forget(key)
	}
}
