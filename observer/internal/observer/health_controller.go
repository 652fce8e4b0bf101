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

	mu      sync.Mutex
	known   map[types.NamespacedName]map[string]judged // by Release and page
	written map[types.NamespacedName]time.Time         // when health was last written, by Release
	notes   *notes
}

// Reconcile judges one Release. What did not change since it was last judged costs no
// request.
func (c *HealthController) Reconcile(ctx context.Context, key types.NamespacedName) (base.Result, error) {
	release, pages, err := c.find(ctx, key)
	if apierrors.IsNotFound(err) {
		c.Forget(key)
		return base.Result{}, nil
	}
	if err != nil {
		return base.Result{}, err
	}
	resting := max(c.beginning(pages), c.resting(release, pages))
	if resting > 0 && !hooksRun(release) {
		return base.Result{RequeueAfter: resting}, nil
	}
	t, err := c.reach(ctx, release)
	if err != nil {
		var errs []error
		for _, page := range pages {
			errs = append(errs, c.write(ctx, page, unreachable(page, err)))
		}
		return base.Result{RequeueAfter: c.Resync}, errors.Join(errs...)
	}
	entries := pages.Entries()
	if c.track(ctx, release, entries, t) && !hooksRun(release) {
		return base.Result{RequeueAfter: catchUpRetry}, nil
	}
	reader, around := &compare.Comparer{Target: t, Installation: c.Installation, Release: release}, c.surroundings(release, t)
	if resting > 0 {
		again, err := c.followHooks(ctx, release, around, reader)
		return base.Result{RequeueAfter: min(resting, again)}, err
	}
	next := c.Resync
	if c.checkTypes(ctx, release, entries, t) {
		next = min(next, typeCheckRetry)
	}
	var errs []error
	before := c.leaving(release)
	judged := c.look(ctx, release, pages, entries, around, reader)
	if left := c.ending(release); left > 0 && !anyGone(before, judged) {
		again, err := c.followHooks(ctx, release, around, reader)
		return base.Result{RequeueAfter: min(left, next, again)}, err
	}
	for i, now := range judged {
		errs = append(errs, c.write(ctx, pages[i], now.results))
		next = min(next, now.next(c.Clock.Now(), c.Resync))
	}
	// The hooks are followed though the status could not be written, and the reverse.
	again, err := c.followHooks(ctx, release, around, reader)
	return base.Result{RequeueAfter: min(next, again)}, errors.Join(append(errs, err)...)
}

// firstApply is how long the first apply of a Release may take until it is said of its objects
// that they are not applied yet. Most take a moment, and are not worth a write.
const firstApply = 3 * time.Second

// beginning is how much of that is left for an inventory of which nothing is applied.
func (c *HealthController) beginning(pages Pages) time.Duration {
	first := pages[0]
	for _, entry := range pages.Entries() {
		if !neverApplied(entry) {
			return 0
		}
	}
	if first.Status.Summary != nil {
		return 0
	}
	return min(firstApply-c.Clock.Since(first.CreationTimestamp.Time), firstApply)
}

// deletion is how long a deletion may take until the health of what is left is told. Most
// take a moment, and the controller-manager sees for itself what is gone at once.
const deletion = 30 * time.Second

// ending is how much of that is left for a Release that is being deleted.
func (c *HealthController) ending(release *corev1alpha1.Release) time.Duration {
	if release.DeletionTimestamp.IsZero() {
		return 0
	}
	return min(deletion-c.Clock.Since(release.DeletionTimestamp.Time), deletion)
}

// leaving are the objects of a Release that were seen to be deleted, and not to be gone, by
// fingerprint.
func (c *HealthController) leaving(release *corev1alpha1.Release) map[uint64]bool {
	if release.DeletionTimestamp.IsZero() {
		return nil
	}
	leaving := map[uint64]bool{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, page := range c.known[nameOf(release)] {
		for _, one := range page.results {
			if one.leaving {
				leaving[one.object] = true
			}
		}
	}
	return leaving
}

// anyGone tells that one of the objects that were leaving is gone: somebody waits for that.
func anyGone(leaving map[uint64]bool, now []judged) bool {
	for _, page := range now {
		for _, one := range page.results {
			if leaving[one.object] && one.Status == corev1alpha1.HealthMissing {
				return true
			}
		}
	}
	return false
}

// rest is how long health that was just written is left as it is: a burst of changes is a few
// writes. The first one is told at once, and so is what the controller-manager waits for: the end
// of hooks, too.
const rest = time.Second

// resting is how much of that is left.
func (c *HealthController) resting(release *corev1alpha1.Release, pages Pages) time.Duration {
	for _, page := range pages {
		if page.Status.ObservedGeneration != page.Generation && release.DeletionTimestamp.IsZero() {
			return 0
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.written[nameOf(release)]
	if !ok {
		return 0
	}
	return min(rest-c.Clock.Since(at), rest)
}

// wrote notes that health was written.
func (c *HealthController) wrote(release types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.written == nil {
		c.written = map[types.NamespacedName]time.Time{}
	}
	c.written[release] = c.Clock.Now()
}

// find gives the Release and its inventory; the error is NotFound when either is absent.
func (c *HealthController) find(ctx context.Context, key types.NamespacedName) (*corev1alpha1.Release, Pages, error) {
	release, err := c.Releases.Releases(key.Namespace).Get(key.Name)
	if err != nil {
		return nil, nil, err
	}
	pages, err := c.Inventory(ctx, key)
	return release, pages, err
}

// look judges every entry, page by page, and sees to it that changes of their objects are
// noticed.
func (c *HealthController) look(ctx context.Context, release *corev1alpha1.Release, pages Pages, entries []corev1alpha1.InventoryEntry,
	around *surroundings, reader *compare.Comparer,
) []judged {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	results, now := make([]judged, len(pages)), map[string]judged{}
	for i, page := range pages {
		results[i] = c.judge(ctx, release, page, around, reader)
		now[page.Name] = results[i]
	}
	c.mu.Lock()
	if c.known == nil {
		c.known = map[types.NamespacedName]map[string]judged{}
	}
	c.known[nameOf(release)] = now
	c.mu.Unlock()
	// The judgement may have found kinds that were not known before. What happens between the
	// reads and the watch is told when the watch has caught up.
	c.track(ctx, release, entries, around.target)
	return results
}

func (c *HealthController) remembered(release types.NamespacedName, page string) judged {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[release][page]
}

// Forget drops what is remembered of a Release that is gone, or is another process's, and
// ends the watches that only it needed.
func (c *HealthController) Forget(key types.NamespacedName) {
	c.mu.Lock()
	delete(c.known, key)
	delete(c.written, key)
	c.mu.Unlock()
	c.Tracker.ForgetRelease(key)
}
