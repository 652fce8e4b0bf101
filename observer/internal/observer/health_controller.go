// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/observer/internal/compare"
)

// HealthController is the health loop: it judges the objects of a Release's inventory and
// writes the inventory's status, and follows running hooks to their end. Its key is the
// name of the Release.
type HealthController struct {
	Host
	Rules  *Rules
	Clock  clock.Clock
	Resync time.Duration

	mu    sync.Mutex
	known map[types.NamespacedName]judged
}

// Reconcile judges one Release. What did not change since it was last judged costs no
// request.
func (c *HealthController) Reconcile(ctx context.Context, key types.NamespacedName) (base.Result, error) {
	release, inventory, err := c.find(key)
	if apierrors.IsNotFound(err) {
		c.Forget(key)
		return base.Result{}, nil
	}
	if err != nil {
		return base.Result{}, err
	}
	t, err := c.reach(ctx, release)
	if err != nil {
		return base.Result{RequeueAfter: c.Resync}, c.write(ctx, inventory, unreachable(inventory, err))
	}
	reader := &compare.Comparer{Target: t, Installation: c.Installation, Release: release}
	now := c.look(ctx, release, inventory, t, reader)
	// The hooks are followed though the status could not be written, and the reverse.
	err = errors.Join(c.write(ctx, inventory, now.results), c.followHooks(ctx, release, reader))
	return base.Result{RequeueAfter: now.next(c.Resync)}, err
}

// find gives the Release and its inventory; the error is NotFound when either is absent.
func (c *HealthController) find(key types.NamespacedName) (*corev1alpha1.Release, *corev1alpha1.ReleaseInventory, error) {
	release, err := c.Releases.Releases(key.Namespace).Get(key.Name)
	if err != nil {
		return nil, nil, err
	}
	inventory, err := c.Inventories.ReleaseInventories(key.Namespace).Get(key.Name)
	return release, inventory, err
}

// look judges every entry, and sees to it that changes of their objects are noticed.
func (c *HealthController) look(ctx context.Context, release *corev1alpha1.Release, inventory *corev1alpha1.ReleaseInventory,
	t *Target, reader *compare.Comparer,
) judged {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	now := c.judge(ctx, release, inventory, t, reader)
	c.mu.Lock()
	if c.known == nil {
		c.known = map[types.NamespacedName]judged{}
	}
	c.known[nameOf(release)] = now
	c.mu.Unlock()
	// After the judgement, which may have found kinds that were not known before. What
	// happens between the reads and the watch is told when the watch has caught up.
	c.track(ctx, release, inventory, t)
	return now
}

func (c *HealthController) remembered(key types.NamespacedName) judged {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

// Forget drops what is remembered of a Release that is gone, or is another process's, and
// ends the watches that only it needed.
func (c *HealthController) Forget(key types.NamespacedName) {
	c.mu.Lock()
	delete(c.known, key)
	c.mu.Unlock()
	c.Tracker.ForgetRelease(key)
}
