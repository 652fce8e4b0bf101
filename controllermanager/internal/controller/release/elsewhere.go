// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/controller/base"
)

// Elsewhere watches Releases of shards that are not in the informers, by name. A Cluster, its
// Releases and their inventories are in one shard, so that few are wanted: those that Releases on
// other Clusters depend on, or that have the objects of such.
type Elsewhere interface {
	AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
	// Want has changes of these Releases told, for one that works on, and of no others.
	Want(release types.NamespacedName, others []types.NamespacedName)
	// Whole tells whether a Release that is wanted is known, if it exists; then GetIndexer has it.
	Whole(other types.NamespacedName) bool
	GetIndexer() cache.Indexer
}

// watchElsewhere has a Release enqueued when others change that it depends on, or waits for. It
// goes before what reads them.
func (c *Controller) watchElsewhere(s *scope) {
	if c.config.Elsewhere == nil {
		return
	}
	var others []types.NamespacedName
	for _, dependency := range s.release.Spec.DependsOn {
		others = append(others, types.NamespacedName{Namespace: s.key.Namespace, Name: dependency.Name})
	}
	others = slices.DeleteFunc(append(others, s.awaited...), func(other types.NamespacedName) bool {
		return c.cachedRelease(other.Namespace, other.Name) != nil
	})
	c.config.Elsewhere.Want(s.key, others)
}

// watchedRelease gives a Release of whatever shard, shared and not to be changed, as far as that is
// watched; nil when there is none. known is false when it may be there all the same.
func (c *Controller) watchedRelease(name types.NamespacedName) (release *corev1alpha1.Release, known bool) {
	cached := c.cachedRelease(name.Namespace, name.Name)
	if cached != nil || c.config.Elsewhere == nil {
		return cached, true
	}
	if !c.config.Elsewhere.Whole(name) {
		return nil, false
	}
	object, _, _ := c.config.Elsewhere.GetIndexer().GetByKey(name.String()) // its own key function fails for none
	release, _ = object.(*corev1alpha1.Release)
	return release, true
}

// releaseAnywhere gives a Release of whatever shard, shared and not to be changed; nil when there
// is none.
func (c *Controller) releaseAnywhere(ctx context.Context, name types.NamespacedName) (*corev1alpha1.Release, error) {
	if watched, known := c.watchedRelease(name); known {
		return watched, nil
	}
	release, err := c.config.Client.CoreV1alpha1().Releases(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Release %s, which is in another shard: %w", name, err)
	}
	return release, nil
}

// clusterOfRelease gives the Cluster of a Release, nil when there is none. One that has yet to be
// labelled with its shard is in no informer, and is read: much is given up for want of a Cluster.
func (c *Controller) clusterOfRelease(ctx context.Context, release *corev1alpha1.Release) (*corev1alpha1.Cluster, error) {
	name := release.Spec.ClusterRef.Name
	cached := c.cachedCluster(release.Namespace, name)
	if cached != nil || c.config.Elsewhere == nil {
		return cached, nil
	}
	cluster, err := c.config.Client.CoreV1alpha1().Clusters(release.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Cluster %s/%s: %w", release.Namespace, name, err)
	}
	return cluster, nil
}

// errUnknownPage says that an inventory has a page which the informer does not have.
var errUnknownPage = errors.New("has a page that is not known here yet, because it has yet to be labelled with its shard")

// knowsAllPages returns errUnknownPage when there is a page behind those of the scope: what is in
// it must not be forgotten with them.
func (c *Controller) knowsAllPages(ctx context.Context, s *scope) error {
	if c.config.Elsewhere == nil {
		return nil
	}
	name := pageName(s.key.Name, len(s.pages))
	_, err := c.config.Client.CoreV1alpha1().ReleaseInventories(s.key.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the inventory of Release %s: %w", s.key, err)
	}
	return c.labelPage(ctx, s, name)
}

// labelPage has a page that the informer does not have labelled with its shard, as every write
// does, so that the next pass knows it. The error is errUnknownPage when that was done.
func (c *Controller) labelPage(ctx context.Context, s *scope, name string) error {
	_, err := c.config.Client.CoreV1alpha1().ReleaseInventories(s.key.Namespace).
		Patch(ctx, name, types.JSONPatchType, []byte("[]"), metav1.PatchOptions{})
	if err == nil {
		err = errUnknownPage
	}
	return fmt.Errorf("the inventory of Release %s: %w", s.key, err)
}

// ForgetShard drops what is remembered of Releases that the given function tells to be in shards
// whose objects are about to leave the informers: nobody will tell when they are gone.
func (c *Controller) ForgetShard(lost func(release *corev1alpha1.Release) bool) {
	for _, object := range c.releases.List() {
		if release, ok := object.(*corev1alpha1.Release); ok && lost(release) {
			c.forget(nameOf(release))
		}
	}
}

// EnqueueWaiting enqueues the Releases that wait for others, after some have left the informers:
// each then has those watched elsewhere.
func (c *Controller) EnqueueWaiting() {
	if c.config.Elsewhere == nil {
		return
	}
	for _, object := range c.releases.List() {
		release, ok := object.(*corev1alpha1.Release)
		if ok && (len(release.Spec.DependsOn) > 0 || len(c.awaits.get(nameOf(release))) > 0) {
			c.Enqueue(nameOf(release), base.PriorityResync)
		}
	}
}
