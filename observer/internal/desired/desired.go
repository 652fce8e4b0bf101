// SPDX-License-Identifier: Apache-2.0

// Package desired finds what a Release should have in its target cluster: the objects of
// its last applied render, or those that a sync would apply now.
package desired

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// ErrNotReproducible says that a past render can neither be read from a store nor be made
// again with the same result.
var ErrNotReproducible = errors.New("the render cannot be made again")

// Sources finds the source objects that Releases refer to.
type Sources interface {
	// Source returns the object that source refers to, of the given namespace.
	Source(ctx context.Context, namespace string, source corev1alpha1.ReleaseSource) (runtime.Object, error)
}

// Resolver finds desired objects.
type Resolver struct {
	Sources    Sources
	Fetch      *fetch.Coordinator
	Renderer   *render.Renderer
	References render.References
	// Store has past renders; nil when there is none.
	Store *store.Store
}

// Desired is what a Release should have.
type Desired struct {
	Revision string
	*render.Result
}

// Applied returns the render that was last applied to the target. It is read from the
// store when there is one, and otherwise made again from the applied revision; when that
// gives another result, the error is ErrNotReproducible.
func (r *Resolver) Applied(ctx context.Context, release *corev1alpha1.Release, target render.Cluster) (*Desired, error) {
	applied := release.Status.Applied
	if applied == nil {
		return nil, fmt.Errorf("Release %s/%s has not been applied yet", release.Namespace, release.Name)
	}
	if r.Store != nil {
		stored, err := r.Stored(ctx, release, applied.Render)
		if err == nil || !errors.Is(err, store.ErrNotFound) {
			return stored, err
		}
	}
	desired, err := r.At(ctx, release, target, applied.Revision)
	if err != nil {
		return nil, err
	}
	if desired.Digest != applied.Render {
		return nil, fmt.Errorf("%w: revision %s gives %s now, %s was applied; a render store keeps what was applied",
			ErrNotReproducible, applied.Revision, desired.Digest, applied.Render)
	}
	return desired, nil
}

// Stored returns a past render by its digest.
func (r *Resolver) Stored(ctx context.Context, release *corev1alpha1.Release, digest string) (*Desired, error) {
	if r.Store == nil {
		return nil, fmt.Errorf("%w: no render store is configured (--render-store-url)", ErrNotReproducible)
	}
	record, err := r.Store.Get(ctx, release.Namespace, release.Name, digest)
	if err != nil {
		return nil, err
	}
	return &Desired{Revision: record.Revision, Result: record.Result}, nil
}

// Current returns what a sync would apply now: the pinned render or revision, or what the
// moving reference is at this moment.
func (r *Resolver) Current(ctx context.Context, release *corev1alpha1.Release, target render.Cluster) (*Desired, error) {
	if pin := release.Spec.Pin; pin != nil {
		if pin.Render != "" {
			return r.Stored(ctx, release, digestOf(release, pin.Render))
		}
		return r.At(ctx, release, target, pin.Revision)
	}
	return r.At(ctx, release, target, "")
}

// digestOf is the digest of a render that is named by it or by its history id.
func digestOf(release *corev1alpha1.Release, name string) string {
	for _, entry := range release.Status.History {
		if strconv.FormatInt(entry.ID, 10) == name {
			return entry.Render
		}
	}
	return name
}

// At returns the render of one revision of the source; "" is what the reference of the
// Release is now.
func (r *Resolver) At(ctx context.Context, release *corev1alpha1.Release, target render.Cluster, revision string) (*Desired, error) {
	source, err := r.Sources.Source(ctx, release.Namespace, release.Spec.Source)
	if err != nil {
		return nil, err
	}
	want := fetch.Want{Namespace: release.Namespace, Source: source, Content: release.Spec.Source, Revision: revision, MaxAge: previewAge}
	resolved, _, err := r.Fetch.Resolve(ctx, want)
	if err != nil {
		return nil, err
	}
	artifact, err := r.Fetch.Fetch(ctx, want, resolved)
	if err != nil {
		return nil, err
	}
	result, err := render.AsNeeded(ctx, r.Renderer, render.Input{
		Release: release,
		Artifact: render.Artifact{
			Root: artifact.Root, Path: artifact.Path, Revision: artifact.Revision,
			Digest: artifact.Digest, RootDigest: artifact.RootDigest,
		},
		References: r.References,
		Cluster:    target,
	})
	if err != nil {
		return nil, err
	}
	return &Desired{Revision: resolved, Result: result}, nil
}

// previewAge is how old an answer about a moving reference may be for a person who asks:
// young enough to be "now", old enough that a page that asks again costs the source nothing.
const previewAge = 2 * time.Second

// IsNotFound tells whether err says that the source or what it refers to is not there.
func IsNotFound(err error) bool {
	return apierrors.IsNotFound(err) || errors.Is(err, fetch.ErrNotFound) || errors.Is(err, store.ErrNotFound)
}
