// SPDX-License-Identifier: Apache-2.0

// Package desired finds what a Release should have in its target cluster: the objects of
// its last applied render, or those that a sync would apply now. What it finds has to be
// what the controller-manager finds, so that both read sources, values and pins in the
// same way.
package desired

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/memo"
	"kumodo.io/convoy/render/store"
)

var (
	// ErrNotReproducible says that a past render can neither be read from a store nor be
	// made again with the same result.
	ErrNotReproducible = errors.New("the render cannot be made again")
	// ErrSource says that the source of a Release, or of its values, does not exist or is
	// suspended.
	ErrSource = errors.New("the source cannot be asked")
)

// previewAge is how old an answer about a moving reference may be for a person who asks:
// young enough to be "now", old enough that a page that asks again costs the source nothing.
const previewAge = 2 * time.Second

// rememberedRenders is how many applied and past renders are kept, so that drift detection
// asks neither store nor host for the same one again, and rememberedBytes about how much memory
// they take. One that takes more is found anew each time.
const (
	rememberedRenders = 256
	rememberedBytes   = 256 << 20
)

// Resolver finds desired objects. It is safe for concurrent use.
type Resolver struct {
	Sources    sources.Lookup
	Fetch      fetch.Fetcher
	Renderer   *render.Renderer
	References render.References
	// Store has past renders; nil when there is none.
	Store *store.Store

	once  sync.Once
	known *memo.Memo[renderKey, *Desired]
}

// renderKey names a render of a Release. Equal digests of two Releases are two keys: one of
// them must not be shown what the other one may see.
type renderKey struct{ namespace, name, digest string }

// Desired is what a Release should have.
type Desired struct {
	Revision string
	*render.Result
}

// Applied returns the render that was last applied to the target; see Past.
func (r *Resolver) Applied(ctx context.Context, release *corev1alpha1.Release, target render.Cluster) (*Desired, error) {
	applied := release.Status.Applied
	if applied == nil {
		return nil, errors.New("nothing has been applied yet")
	}
	return r.Past(ctx, release, target, applied.Revision, applied.Render)
}

// Past returns a past render of the Release by its digest: as Stored does, and otherwise
// made again from its revision. When that gives another result, the error is
// ErrNotReproducible.
func (r *Resolver) Past(ctx context.Context, release *corev1alpha1.Release, target render.Cluster, revision, digest string) (*Desired, error) {
	stored, err := r.Stored(ctx, release, digest)
	if err == nil || !errors.Is(err, ErrNotReproducible) && !errors.Is(err, store.ErrNotFound) {
		return stored, err
	}
	in, err := r.input(ctx, release, target, revision)
	if err != nil {
		return nil, err
	}
	result, err := render.AsNeeded(ctx, r.Renderer, in)
	if err != nil {
		return nil, err
	}
	if result.Digest != digest {
		// It may have been the first, which was rendered as an installation.
		if installed, err := r.Renderer.Render(ctx, in); err == nil && installed.Digest == digest {
			result = installed
		}
	}
	if result.Digest != digest {
		return nil, fmt.Errorf("%w: revision %s gives %s now, not %s; a render store keeps past renders", ErrNotReproducible, revision, result.Digest, digest)
	}
	made := &Desired{Revision: in.Artifact.Revision, Result: result}
	r.cache().Put(renderKey{release.Namespace, release.Name, digest}, made)
	return made, nil
}

// Stored returns a past render by its digest without making it again: one that was asked
// for not long ago, or one of the store.
func (r *Resolver) Stored(ctx context.Context, release *corev1alpha1.Release, digest string) (*Desired, error) {
	key := renderKey{release.Namespace, release.Name, digest}
	if known, ok := r.cache().Get(key); ok {
		return known, nil
	}
	if r.Store == nil {
		return nil, fmt.Errorf("%w: no render store is configured (--render-store-url)", ErrNotReproducible)
	}
	record, err := r.Store.Get(ctx, release.Namespace, release.Name, digest)
	if err != nil {
		return nil, err
	}
	stored := &Desired{Revision: record.Revision, Result: record.Result}
	r.cache().Put(key, stored)
	return stored, nil
}

func (r *Resolver) cache() *memo.Memo[renderKey, *Desired] {
	r.once.Do(func() { r.known = remembering(rememberedRenders, rememberedBytes) })
	return r.known
}

func remembering(renders int, bytes int64) *memo.Memo[renderKey, *Desired] {
	failures := func(error) bool { return false }
	return memo.New[renderKey, *Desired](renders, failures).Weigh(bytes, func(d *Desired) int64 { return d.Weight() })
}

// Forget drops the renders of a Release that is gone, or is another process's.
func (r *Resolver) Forget(release types.NamespacedName) {
	r.cache().ForgetAll(func(key renderKey) bool { return key.namespace == release.Namespace && key.name == release.Name })
}

// Current returns what a sync would apply now: the pinned render or revision, or what the
// moving reference is at this moment.
func (r *Resolver) Current(ctx context.Context, release *corev1alpha1.Release, target render.Cluster) (*Desired, error) {
	pin := release.Spec.Pin
	switch {
	case pin == nil:
		return r.At(ctx, release, target, "")
	case pin.Render == "":
		return r.At(ctx, release, target, pin.Revision)
	}
	stored, err := r.Stored(ctx, release, render.PinnedDigest(release))
	if err != nil {
		return nil, fmt.Errorf("spec.pin.render: %w", err)
	}
	return &Desired{Revision: stored.Revision, Result: stored.ForLaterSync()}, nil
}

// At returns what a sync would apply of one revision of the source; "" is what the
// reference of the Release is now.
func (r *Resolver) At(ctx context.Context, release *corev1alpha1.Release, target render.Cluster, revision string) (*Desired, error) {
	in, err := r.input(ctx, release, target, revision)
	if err != nil {
		return nil, err
	}
	result, err := render.AsNeeded(ctx, r.Renderer, in)
	if err != nil {
		return nil, err
	}
	if result, err = r.settled(ctx, in, result); err != nil {
		return nil, err
	}
	return &Desired{Revision: in.Artifact.Revision, Result: result}, nil
}

// settled gives what is desired when a render is not the same each time: what the same
// inputs gave first, which the controller-manager stored. A store that cannot be used is an
// error: what was made just now is not what a sync would apply.
func (r *Resolver) settled(ctx context.Context, in render.Input, made *render.Result) (*render.Result, error) {
	otherwise, err := render.GaveOtherwise(ctx, r.Renderer, in, made)
	if err != nil || !otherwise {
		return made, err
	}
	stored, err := r.Stored(ctx, in.Release, in.Release.Status.Render.Digest)
	if errors.Is(err, ErrNotReproducible) || errors.Is(err, store.ErrNotFound) {
		return made, nil
	}
	if err != nil {
		return nil, err
	}
	return stored.Result, nil
}

// input gathers what a revision is rendered of, as an installation.
func (r *Resolver) input(ctx context.Context, release *corev1alpha1.Release, target render.Cluster, revision string) (render.Input, error) {
	reference, ok := sources.ReferenceOf(release.Spec.Source)
	if !ok {
		return render.Input{}, fmt.Errorf("%w: the Release names none", ErrSource)
	}
	source, err := askable(r.Sources, release.Namespace, reference)
	if err != nil {
		return render.Input{}, err
	}
	want := fetch.Want{Namespace: release.Namespace, Source: source, Content: release.Spec.Source, Revision: revision, MaxAge: previewAge}
	resolved, _, err := r.Fetch.Resolve(ctx, want)
	if err != nil {
		return render.Input{}, err
	}
	artifact, err := r.Fetch.Fetch(ctx, want, resolved)
	if err != nil {
		return render.Input{}, err
	}
	return render.Input{
		Release:    release,
		Artifact:   render.Artifact(*artifact),
		References: r.References,
		Cluster:    target,
		Lookup:     render.LookupOf(target, clusterconn.Classify),
	}, nil
}
