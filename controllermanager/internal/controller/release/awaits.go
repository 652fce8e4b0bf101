// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/internal/controller/base"
)

// waitersFor gives the Releases that wait for what one does with its objects.
func (c *Controller) waitersFor(name types.NamespacedName) []types.NamespacedName {
	return c.awaits.all(func(awaited []types.NamespacedName) bool { return slices.Contains(awaited, name) })
}

// keepAwaited remembers what a Release waits for, so that it is looked at when that changes. What is lost
// with the process is found again by the first pass.
func (c *Controller) keepAwaited(s *scope) {
	if len(s.awaited) == 0 {
		c.awaits.forget(s.key)
		return
	}
	c.awaits.keep(s.key, slices.Clone(s.awaited))
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
		if release, _ := c.watchedRelease(name); release != nil {
			state.WriteString(doings(release))
		}
		for _, page := range c.cachedPages(name) {
			fmt.Fprintln(&state, page.UID, page.Generation)
		}
	}
	return state.String()
}

// doings tells states of a Release apart in what makes a difference to those that wait for its objects.
// What it is still to give away, where its inventory is not watched, is in its condition Applied.
func doings(release *corev1alpha1.Release) string {
	var applied corev1alpha1.AppliedStatus
	if release.Status.Applied != nil {
		applied = *release.Status.Applied
	}
	said := ""
	if c := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionApplied); c != nil && c.Status == metav1.ConditionTrue {
		said = c.Message
	}
	return fmt.Sprintln(release.UID, release.Generation, !release.DeletionTimestamp.IsZero(), applied.Revision, applied.Render, applied.Generation, said)
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

// onAwaitedRelease enqueues those that wait for a Release that has done something about its objects,
// or is about to.
func (c *Controller) onAwaitedRelease(queue enqueuer) cache.ResourceEventHandler {
	return base.Handler(queue, base.Events[*corev1alpha1.Release, types.NamespacedName]{
		Keys: func(release *corev1alpha1.Release) []types.NamespacedName {
			return c.waitersFor(nameOf(release))
		},
		Changed: func(old, release *corev1alpha1.Release) bool {
			return doings(old) != doings(release)
		},
		Resync: never[*corev1alpha1.Release],
	})
}

// onAwaitedInventory enqueues those that wait for the Release of an inventory whose entries
// change.
func (c *Controller) onAwaitedInventory(queue enqueuer) cache.ResourceEventHandler {
	return base.Handler(queue, base.Events[*corev1alpha1.ReleaseInventory, types.NamespacedName]{
		Keys: func(inventory *corev1alpha1.ReleaseInventory) []types.NamespacedName {
			return c.waitersFor(releaseOf(inventory))
		},
		Changed: func(old, inventory *corev1alpha1.ReleaseInventory) bool {
			return old.UID != inventory.UID || old.Generation != inventory.Generation
		},
		Resync: never[*corev1alpha1.ReleaseInventory],
	})
}
