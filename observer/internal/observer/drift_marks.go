// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/compare"
)

// marks tells of other Releases' marks in one pass: each of these is asked about once, however
// many objects bear its mark.
type marks struct {
	*Controller
	// byCaches and byHost are the objects that a Release has, as these say.
	byCaches, byHost compare.Once[types.NamespacedName, objects]
}

// objects are some by identity; nil when it cannot be told which.
type objects map[corev1alpha1.ObjectKey]bool

// givenUp tells whether another Release's mark on an object counts for nothing, so that a sync
// takes the object back: there is no such Release, or its inventory does not have the object.
// Whoever can write to the object can write any mark. What cannot be told counts.
func (m *marks) givenUp(ctx context.Context, mark string, key corev1alpha1.ObjectKey) bool {
	installation, namespace, name, ok := corev1alpha1.ParseReleaseAnnotation(mark)
	if !ok || installation != m.Installation {
		return false
	}
	other := types.NamespacedName{Namespace: namespace, Name: name}
	if m.byCaches.Get(other, func() objects { return m.cached(ctx, other) })[identity(key)] {
		return false
	}
	// The caches may be behind: only the host can tell that somebody has nothing.
	held := m.byHost.Get(other, func() objects { return m.held(ctx, other) })
	return held != nil && !held[identity(key)]
}

func (c *Controller) cached(ctx context.Context, name types.NamespacedName) objects {
	if _, err := c.Release(ctx, name); err != nil {
		return nil
	}
	pages, err := c.Inventory(ctx, name)
	if err != nil {
		return nil
	}
	return pages.identities()
}

func (c *Controller) held(ctx context.Context, name types.NamespacedName) objects {
	release, err := c.Client.CoreV1alpha1().Releases(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return objects{}
	}
	if err != nil {
		return nil
	}
	pages, err := pagesOf(ctx, name, c.readPage)
	// One that applied something, and lost its inventory, has everything.
	if apierrors.IsNotFound(err) && (release.Status.Applied == nil || release.Status.Applied.Objects == 0) {
		return objects{}
	}
	if err != nil {
		return nil
	}
	return pages.identities()
}

// identities are the objects of an inventory, in whatever version of their kind.
func (p Pages) identities() objects {
	entries := p.Entries()
	found := make(objects, len(entries))
	for i := range entries {
		found[identity(entries[i].ObjectKey)] = true
	}
	return found
}
