// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
)

// withoutMoving takes those entries out that other Releases of the same source are about to
// take over: one commit moves an object, and whichever Release is first, the object stays.
// They remain in the inventory until their new Release has taken them. doubt says why
// nothing may be deleted now, when it cannot be told what such a Release declares.
func (c *Controller) withoutMoving(ctx context.Context, s *scope, stale []corev1alpha1.InventoryEntry) (left []corev1alpha1.InventoryEntry, doubt string) {
	s.moving = nil
	if len(stale) == 0 {
		return nil, ""
	}
	left = stale
	for _, other := range c.kin(s) {
		result, err := c.heading(ctx, s, other)
		switch {
		case err == nil && result == nil:
			continue // what it has is in its inventory, and bears its mark
		case err != nil && mayPass(ctx, err):
			return nil, fmt.Sprintf("%s, until it is known whether Release %s takes over any of them: %v",
				count(len(stale), "object"), other.Name, err)
		case err != nil && !s.fresh():
			continue // it was told when the sync began
		case err != nil:
			s.notices = append(s.notices, notice{warning: true, reason: "Pruning", message: fmt.Sprintf(
				"%s: Release %s, which draws on the same source, cannot be rendered, and takes none over: %v",
				listed(entryNames(left), ", "), other.Name, err)})
			continue
		}
		var moves []corev1alpha1.InventoryEntry
		for _, entry := range left {
			if entry.Hook == "" && declares(result, entry.ObjectKey) && !c.hasTaken(other, entry) {
				moves = append(moves, entry)
				s.moving = append(s.moving, fmt.Sprintf("%s moves to Release %s, and stays until that has taken it over",
					objectName(entry.ObjectKey), other.Name))
			}
		}
		if len(moves) > 0 {
			left = inventory.Without(left, moves...)
			c.await(s, nameOf(other))
			c.Enqueue(nameOf(other), base.PriorityChange) // it may not have looked for itself yet
		}
	}
	return left, ""
}

// heading gives the render that another Release is about to apply; nil when it has applied it. That is the
// one of its newest content, or what it goes back to for as long as that is the one that failed.
func (c *Controller) heading(ctx context.Context, s *scope, release *corev1alpha1.Release) (*render.Result, error) {
	other, err := c.newestContent(ctx, s, release)
	if err != nil || hasApplied(release, other.revision) {
		return nil, err
	}
	other.request = pendingRequest(release)
	other.result, err = c.newestRender(ctx, other)
	if err != nil || !rolledBack(release) || other.rollbackEnds() {
		return other.result, err
	}
	return c.pastRender(ctx, other, release.Status.Rollback.Revision, release.Status.Rollback.Render)
}

// hasTaken tells whether the object of an entry is in another Release's inventory as applied:
// then it is for the applier to find whose it is.
func (c *Controller) hasTaken(other *corev1alpha1.Release, entry corev1alpha1.InventoryEntry) bool {
	return slices.ContainsFunc(c.cachedPages(nameOf(other)), func(page *corev1alpha1.ReleaseInventory) bool {
		return slices.ContainsFunc(page.Spec.Entries, func(theirs corev1alpha1.InventoryEntry) bool {
			return theirs.UID != "" && theirs.UID == entry.UID && inventory.Key(theirs) == inventory.Key(entry)
		})
	})
}

// kin gives the Releases on the cluster that go with the same source object by themselves.
func (c *Controller) kin(s *scope) []*corev1alpha1.Release {
	own, ok := sources.ReferenceOf(s.release.Spec.Source)
	if !ok {
		return nil
	}
	return slices.DeleteFunc(c.neighbours(s.release), func(other *corev1alpha1.Release) bool {
		reference, ok := sources.ReferenceOf(other.Spec.Source)
		return !ok || reference != own || !automatic(other)
	})
}

// hasApplied tells whether a Release has applied a revision, by its present spec.
func hasApplied(release *corev1alpha1.Release, revision string) bool {
	applied := release.Status.Applied
	return applied != nil && applied.Revision == revision && applied.Generation == release.Generation
}

// newestContent gives the scope of another Release on the same Cluster with the content of
// its source as it is now, as its own next pass will find it.
func (c *Controller) newestContent(ctx context.Context, s *scope, release *corev1alpha1.Release) (*scope, error) {
	other := &scope{key: nameOf(release), release: release.DeepCopy(), before: release.Status.DeepCopy(), now: s.now, cluster: s.cluster}
	if out := c.findSource(other); out.kind != proceeds {
		return nil, errors.New(out.message)
	}
	age := interval(release)
	if s.source != nil {
		age = min(age, s.want.MaxAge)
	}
	other.want = fetch.Want{Namespace: other.key.Namespace, Source: other.source, Content: release.Spec.Source, MaxAge: age}
	found, err := c.resolve(ctx, release, other.want)
	if err != nil {
		return nil, err
	}
	other.revision = found.revision
	other.artifact, err = c.fetch(ctx, release, other.want, other.revision)
	return other, err
}

// newestRender gives what newestContent comes to. Equal inputs are rendered once in a
// process, whoever asks.
func (c *Controller) newestRender(ctx context.Context, other *scope) (*render.Result, error) {
	target, err := c.config.Connector.ConnectRelease(ctx, other.cluster, other.release)
	if err != nil {
		return nil, err
	}
	other.target = target
	return c.render(ctx, other)
}

// declares tells whether a render has an object that may move: those of hooks do not.
func declares(result *render.Result, key corev1alpha1.ObjectKey) bool {
	wanted := inventory.KeyOf(key)
	return slices.ContainsFunc(result.Objects, func(object render.Object) bool { return inventory.KeyOf(object.Key()) == wanted })
}

// passes tells errors that say nothing of what a Release declares, because they are likely to
// pass by themselves.
func passes(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, errUnfinished) || errors.Is(err, fetch.ErrUnreachable) || errors.Is(err, clusterconn.ErrUnreachable) ||
		errors.Is(err, context.DeadlineExceeded)
}

func compareNames(a, b *corev1alpha1.Release) int { return strings.Compare(a.Name, b.Name) }
