// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/internal/controller/base"
)

// awaits remembers which Releases wait for what others do with their objects, so that they
// are looked at when the others change. What is lost with the process is found again by the
// first pass.
type awaits struct {
	mu      sync.Mutex
	awaited map[types.NamespacedName][]types.NamespacedName
}

// of gives what a Release waits for.
func (a *awaits) of(waiter types.NamespacedName) []types.NamespacedName {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.awaited[waiter])
}

// keep remembers what a Release waits for, in place of what it waited for so far.
func (a *awaits) keep(waiter types.NamespacedName, awaited []types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(awaited) == 0 {
		delete(a.awaited, waiter)
		return
	}
	if a.awaited == nil {
		a.awaited = map[types.NamespacedName][]types.NamespacedName{}
	}
	a.awaited[waiter] = slices.Clone(awaited)
}

// waitersFor gives the Releases that wait for one.
func (a *awaits) waitersFor(name types.NamespacedName) []types.NamespacedName {
	a.mu.Lock()
	defer a.mu.Unlock()
	var waiters []types.NamespacedName
	for waiter, awaited := range a.awaited {
		if slices.Contains(awaited, name) {
			waiters = append(waiters, waiter)
		}
	}
	return waiters
}

// await says what the Release waits for, besides what was said since names was last empty.
func (c *Controller) await(s *scope, names ...types.NamespacedName) {
	if len(names) == 0 {
		s.awaited = nil
	}
	for _, name := range names {
		if !slices.Contains(s.awaited, name) {
			s.awaited = append(s.awaited, name)
		}
	}
	s.awaitedState = c.stateOf(s.awaited)
}

// stateOf tells states of Releases apart in what makes a difference to those that wait for
// their objects.
func (c *Controller) stateOf(names []types.NamespacedName) string {
	var state strings.Builder
	for _, name := range names {
		fmt.Fprintln(&state, name)
		if release := c.cachedRelease(name.Namespace, name.Name); release != nil {
			fmt.Fprintln(&state, release.UID, release.Generation, !release.DeletionTimestamp.IsZero(), appliedRevision(release))
		}
		for _, page := range c.cachedPages(name) {
			fmt.Fprintln(&state, page.UID, page.Generation)
		}
	}
	return state.String()
}

// awaitOwner waits for the Release that has an object which could not be applied for that.
func (c *Controller) awaitOwner(s *scope, err error) {
	owned, ok := errors.AsType[*apply.OwnershipError](err)
	if !ok {
		return
	}
	if _, namespace, name, ok := corev1alpha1.ParseReleaseAnnotation(owned.Owner); ok {
		c.await(s, types.NamespacedName{Namespace: namespace, Name: name})
	}
}

// onAwaitedRelease enqueues those that wait for a Release whose spec changes, that has applied
// another revision, or that goes.
func (c *Controller) onAwaitedRelease(queue enqueuer) cache.ResourceEventHandler {
	return base.Handler(queue, base.Events[*corev1alpha1.Release, types.NamespacedName]{
		Keys: func(release *corev1alpha1.Release) []types.NamespacedName {
			return c.awaits.waitersFor(nameOf(release))
		},
		Changed: func(old, release *corev1alpha1.Release) bool {
			return old.UID != release.UID || old.Generation != release.Generation || appliedRevision(old) != appliedRevision(release) ||
				old.DeletionTimestamp.IsZero() != release.DeletionTimestamp.IsZero()
		},
		Resync: never[*corev1alpha1.Release],
	})
}

// onAwaitedInventory enqueues those that wait for the Release of an inventory whose entries
// change.
func (c *Controller) onAwaitedInventory(queue enqueuer) cache.ResourceEventHandler {
	return base.Handler(queue, base.Events[*corev1alpha1.ReleaseInventory, types.NamespacedName]{
		Keys: func(inventory *corev1alpha1.ReleaseInventory) []types.NamespacedName {
			return c.awaits.waitersFor(releaseOf(inventory))
		},
		Changed: func(old, inventory *corev1alpha1.ReleaseInventory) bool {
			return old.UID != inventory.UID || old.Generation != inventory.Generation
		},
		Resync: never[*corev1alpha1.ReleaseInventory],
	})
}
