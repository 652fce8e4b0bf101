// SPDX-License-Identifier: Apache-2.0

// Package retention removes stored renders that no Release needs any more. A render is
// needed while a Release's status, history or pin names it. One that is not is first marked
// in the store, and removed when it has been marked for the whole grace: a controller that
// sees the wrong Releases, or none, does no harm that could not be noticed in time.
package retention

import (
	"context"
	"fmt"
	"iter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// The store is looked through this long after the start, and this often after that. Both
// are short against any grace, and long against what a listing costs.
const (
	first = 15 * time.Minute
	every = 6 * time.Hour
)

// Store is where renders are stored.
type Store interface {
	Walk(ctx context.Context) iter.Seq2[store.Kept, error]
	Retain(ctx context.Context, kept store.Kept, needed func(digest string) bool, before time.Time) (store.Retained, error)
}

// Config is what a Keeper works with. All fields are required.
type Config struct {
	Store Store
	// Releases are those of the host cluster, by namespace/name. With Partial, they are only
	// those that this process works on, and perhaps some others.
	Releases cache.Store
	Partial  bool
	// Live reads a Release past the cache.
	Live func(ctx context.Context, namespace, name string) (*corev1alpha1.Release, error)
	// Owned tells whether this process works on a Release, OwnsGone whether it looks after
	// what is stored of Releases that are gone.
	Owned    func(release *corev1alpha1.Release) bool
	OwnsGone func() bool
	// Grace is how long an unneeded render stays.
	Grace time.Duration
	Clock clock.Clock
}

// Keeper looks through the store from time to time.
type Keeper struct{ config Config }

// New makes a Keeper.
func New(config Config) *Keeper { return &Keeper{config: config} }

// Run works until ctx ends. What fails is logged, and done the next time.
func (k *Keeper) Run(ctx context.Context) error {
	for wait := first; ; wait = every {
		select {
		case <-ctx.Done():
			return nil
		case <-k.config.Clock.After(wait):
		}
		done, err := k.Sweep(ctx)
		if ctx.Err() != nil {
			return nil
		}
		logger := klog.FromContext(ctx)
		if err != nil {
			logger.Info("Unneeded renders are kept for now", "err", err)
		}
		if done != (store.Retained{}) {
			logger.Info("Render store looked through", "marked", done.Marked, "reclaimed", done.Reclaimed, "removed", done.Removed)
		}
	}
}

// Sweep looks through the store once.
func (k *Keeper) Sweep(ctx context.Context) (sum store.Retained, err error) {
	before := k.config.Clock.Now().Add(-k.config.Grace)
	for kept, err := range k.config.Store.Walk(ctx) {
		if err != nil {
			return sum, err
		}
		release, mine, err := k.find(ctx, kept, before)
		if err != nil {
			return sum, err
		}
		if !mine {
			continue
		}
		done, err := k.config.Store.Retain(ctx, kept, needed(release), before)
		sum.Marked += done.Marked
		sum.Reclaimed += done.Reclaimed
		sum.Removed += done.Removed
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// find gives the Release of what is stored, nil when it is gone, and whether it is looked
// after by this process. Before something is removed, the host itself is asked.
func (k *Keeper) find(ctx context.Context, kept store.Kept, before time.Time) (release *corev1alpha1.Release, mine bool, err error) {
	object, exists, err := k.config.Releases.GetByKey(kept.Namespace + "/" + kept.Name)
	if err != nil {
		return nil, false, err
	}
	if exists {
		release = object.(*corev1alpha1.Release)
		mine = k.config.Owned(release)
	} else {
		mine = k.config.OwnsGone()
	}
	if !mine || !anyDue(kept, before) && (exists || !k.config.Partial) {
		return release, mine, nil
	}
	release, err = k.config.Live(ctx, kept.Namespace, kept.Name)
	if apierrors.IsNotFound(err) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading Release %s/%s, whose renders may be unneeded: %w", kept.Namespace, kept.Name, err)
	}
	// One that is not gone, but only not cached, is looked after by who works on it.
	return release, exists || !k.config.Partial, nil
}

func anyDue(kept store.Kept, before time.Time) bool {
	for _, stored := range kept.Renders {
		if stored.Due(before) {
			return true
		}
	}
	return false
}

// needed tells which renders a Release names; none if it is nil.
func needed(release *corev1alpha1.Release) func(digest string) bool {
	named := map[string]bool{}
	if release != nil {
		if rendered := release.Status.Render; rendered != nil {
			named[rendered.Digest] = true
		}
		if applied := release.Status.Applied; applied != nil {
			named[applied.Render] = true
		}
		for _, entry := range release.Status.History {
			named[entry.Render] = true
		}
		if release.Spec.Pin != nil {
			named[render.PinnedDigest(release)] = true
		}
	}
	return func(digest string) bool { return named[digest] }
}
