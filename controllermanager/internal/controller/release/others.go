// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/apply"
	"kumodo.io/convoy/controllermanager/internal/inventory"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/render"
)

// others tells the applier of a pass of the other Releases. What a Release has is in its
// inventory; what it will have is in the render of its newest revision, which is made for
// its own next pass in any case.
type others struct {
	controller *Controller
	scope      *scope
}

// Standing implements apply.Others.
func (o *others) Standing(ctx context.Context, name types.NamespacedName, key corev1alpha1.ObjectKey) (apply.Standing, error) {
	c := o.controller
	release := c.cachedRelease(name.Namespace, name.Name)
	entry, listed := entryIn(c.cachedPages(name), key)
	if release == nil || !listed {
		// The caches may be behind: only the host can tell that somebody has nothing.
		var err error
		if release, entry, err = c.readHolder(ctx, name, key); release == nil || err != nil {
			return apply.Absent, err
		}
	}
	switch {
	case entry.Hook != "":
		return apply.Holds, nil // it does not move: it is its Release's until that has removed it
	case !release.DeletionTimestamp.IsZero():
		return apply.Leaves, nil
	case !o.near(release):
		return apply.Holds, nil
	case !c.goesOn(release):
		return o.leftBehind(ctx, release, key)
	}
	newest, err := c.newestContent(ctx, o.scope, release)
	if err != nil {
		return apply.Holds, ctx.Err()
	}
	if result, err := c.newestRender(ctx, newest); err != nil || brings(result, key) {
		return apply.Holds, ctx.Err()
	}
	c.Enqueue(name, base.PriorityChange) // it may not have looked for itself yet
	return apply.Leaves, nil
}

// leftBehind tells whether an object is in the inventory of a Release only because it left what the
// Release has, and waits to be taken over: of a Release that does not go on by itself, the render
// that was applied last says what that is, and the one that was last desired what it may be about to
// take.
func (o *others) leftBehind(ctx context.Context, release *corev1alpha1.Release, key corev1alpha1.ObjectKey) (apply.Standing, error) {
	c, applied := o.controller, release.Status.Applied
	other := &scope{key: nameOf(release), release: release.DeepCopy(), before: release.Status.DeepCopy(), now: o.scope.now, cluster: o.scope.cluster}
	if applied == nil || c.findSource(other).kind != proceeds {
		return apply.Holds, nil
	}
	var err error
	if other.target, err = c.config.Connector.ConnectRelease(ctx, o.scope.cluster, release); err != nil {
		return apply.Holds, ctx.Err()
	}
	other.want = fetch.Want{Namespace: other.key.Namespace, Source: other.source, Content: release.Spec.Source, MaxAge: interval(release)}
	renders := map[string]string{applied.Render: applied.Revision} // to the revisions
	if rolledBack(release) {
		renders[release.Status.Rollback.Render] = release.Status.Rollback.Revision
	} else if desired, source := release.Status.Render, release.Status.Source; desired != nil && source != nil {
		renders[desired.Digest] = source.Revision
	}
	for digest, revision := range renders {
		result, err := c.pastRender(ctx, other, revision, digest)
		if err != nil || brings(result, key) {
			return apply.Holds, ctx.Err()
		}
	}
	return apply.Leaves, nil
}

// brings tells whether a render has an object, be it that of a hook.
func brings(result *render.Result, key corev1alpha1.ObjectKey) bool {
	wanted := inventory.KeyOf(key)
	return declares(result, key) || slices.ContainsFunc(slices.Concat(result.Hooks, result.OtherHooks),
		func(hook render.Hook) bool { return inventory.KeyOf(hook.Object.Key()) == wanted })
}

// readHolder reads from the host whether a Release has an object in its inventory, and the entry;
// nil when it has not. A Release that applied something and has no inventory has everything.
func (c *Controller) readHolder(ctx context.Context, name types.NamespacedName, key corev1alpha1.ObjectKey) (*corev1alpha1.Release, corev1alpha1.InventoryEntry, error) {
	var entry corev1alpha1.InventoryEntry
	client := c.config.Client.CoreV1alpha1()
	release, err := client.Releases(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, entry, nil
	}
	if err != nil {
		return nil, entry, fmt.Errorf("reading Release %s: %w", name, err)
	}
	pages, err := c.readPages(ctx, name)
	if err != nil {
		return nil, entry, err
	}
	entry, listed := entryIn(pages, key)
	lost := len(pages) == 0 && release.Status.Applied != nil && release.Status.Applied.Objects > 0
	if !lost && !listed {
		return nil, entry, nil
	}
	return release, entry, nil
}

// Owner implements apply.Others.
func (o *others) Owner(key corev1alpha1.ObjectKey, uid types.UID) (types.NamespacedName, bool) {
	name, _, ok := o.find(func(entry corev1alpha1.InventoryEntry) bool {
		return entry.UID == uid && inventory.Key(entry) == inventory.KeyOf(key)
	})
	return name, ok
}

// Inside implements apply.Others.
func (o *others) Inside(namespace string) (types.NamespacedName, corev1alpha1.ObjectKey, bool) {
	return o.find(func(entry corev1alpha1.InventoryEntry) bool { return entry.Namespace == namespace && entry.UID != "" })
}

// Kinds implements apply.Others.
func (o *others) Kinds(ctx context.Context, namespace string) ([]schema.GroupVersionKind, error) {
	found := map[schema.GroupVersionKind]bool{}
	see := func(page *corev1alpha1.ReleaseInventory) {
		if releaseOf(page) == o.scope.key {
			return
		}
		for _, entry := range page.Spec.Entries {
			if entry.Namespace == namespace { // without a UID, too: what was just handed over
				found[entry.GroupVersionKind()] = true
			}
		}
	}
	if err := o.controller.eachInventory(ctx, see); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }), nil
}

// inventoriesAtOnce is how many inventories are read at once when all are.
const inventoriesAtOnce = 100

// eachInventory calls see with the pages of all inventories of the host. Where the informer has
// some only, they are read, which is much: it is for what is done seldom.
func (c *Controller) eachInventory(ctx context.Context, see func(page *corev1alpha1.ReleaseInventory)) error {
	if c.config.Elsewhere == nil {
		for _, object := range c.inventories.List() {
			see(object.(*corev1alpha1.ReleaseInventory))
		}
		return nil
	}
	options := metav1.ListOptions{Limit: inventoriesAtOnce}
	for {
		list, err := c.config.Client.CoreV1alpha1().ReleaseInventories("").List(ctx, options)
		if err != nil {
			return fmt.Errorf("listing the inventories of all Releases: %w", err)
		}
		for i := range list.Items {
			see(&list.Items[i])
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}

// find gives the first entry of the other Releases on the cluster that matches.
func (o *others) find(match func(corev1alpha1.InventoryEntry) bool) (types.NamespacedName, corev1alpha1.ObjectKey, bool) {
	for _, other := range o.controller.neighbours(o.scope.release) {
		for _, page := range o.controller.cachedPages(nameOf(other)) {
			if i := slices.IndexFunc(page.Spec.Entries, match); i >= 0 {
				return nameOf(other), page.Spec.Entries[i].ObjectKey, true
			}
		}
	}
	return types.NamespacedName{}, corev1alpha1.ObjectKey{}, false
}

// near tells whether a Release is on the same Cluster as that of the pass: then this process
// has its connection, too.
func (o *others) near(release *corev1alpha1.Release) bool {
	own := o.scope.release
	return release.Namespace == own.Namespace && release.Spec.ClusterRef == own.Spec.ClusterRef
}

// neighbours gives the other Releases on the Cluster of one, by name.
func (c *Controller) neighbours(release *corev1alpha1.Release) []*corev1alpha1.Release {
	found := slices.DeleteFunc(c.indexed(indexCluster, clusterNameOf(release)),
		func(other *corev1alpha1.Release) bool { return other.Name == release.Name })
	slices.SortFunc(found, func(a, b *corev1alpha1.Release) int { return compareNames(a, b) })
	return found
}

// goesOn tells whether nothing but time keeps a Release from applying its newest revision.
func (c *Controller) goesOn(release *corev1alpha1.Release) bool {
	opening, err := windowsOf(release, c.config.Clock.Now())
	return automatic(release) && !rolledBack(release) && len(gatesOf(release)) == 0 && err == nil && opening.open
}

// rolledBack tells whether a Release is rolled back, or about to be: it does not go with its source then.
func rolledBack(release *corev1alpha1.Release) bool {
	return release.Status.Rollback != nil && release.Status.Rollback.Render != ""
}

// automatic tells whether a Release goes with its source by itself.
func automatic(release *corev1alpha1.Release) bool {
	return release.DeletionTimestamp.IsZero() && !release.Spec.Suspend && release.Spec.Pin == nil &&
		release.Spec.Sync.Mode != corev1alpha1.SyncModeManual
}

// entryIn gives the entry of an object in the pages of an inventory.
func entryIn(pages []*corev1alpha1.ReleaseInventory, key corev1alpha1.ObjectKey) (corev1alpha1.InventoryEntry, bool) {
	wanted := inventory.KeyOf(key)
	for _, page := range pages {
		for _, entry := range page.Spec.Entries {
			if inventory.Key(entry) == wanted {
				return entry, true
			}
		}
	}
	return corev1alpha1.InventoryEntry{}, false
}
