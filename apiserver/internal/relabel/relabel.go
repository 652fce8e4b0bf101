// SPDX-License-Identifier: Apache-2.0

// Package relabel brings the shard labels of stored objects up to date. An object is
// labelled when it is written, so that one that nobody writes keeps the label of an earlier
// number of shards. Every replica of the server looks for such objects when it starts and at
// intervals: while replicas with different numbers run, as during a rollout, each labels
// what is written through it, and the last word is with those that stay.
package relabel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

const (
	// interval is how often labels are looked at.
	interval = 10 * time.Minute
	// retryInterval is how soon after a pass that failed, as the first ones do while the
	// storages come up.
	retryInterval = 5 * time.Second
)

// Storage holds the objects of one kind.
type Storage interface {
	// List gives all objects, shared and not to be changed.
	List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error)
	// Stale tells whether the object would be labelled otherwise than it is.
	Stale(ctx context.Context, obj runtime.Object) bool
	// Relabel writes the label and nothing else. An object that is gone is no error.
	Relabel(ctx context.Context, obj runtime.Object) error
}

// Run makes passes over the storages until ctx ends. relabelled is told how many objects
// each pass changed.
func Run(ctx context.Context, storages []Storage, relabelled func(int)) {
	logger := klog.FromContext(ctx)
	for ctx.Err() == nil {
		changed, err := pass(ctx, storages)
		relabelled(changed)
		next := wait.Jitter(interval, 0.2)
		if err != nil {
			logger.V(2).Info("Shard labels could not all be brought up to date, trying again", "err", err)
			next = retryInterval
		}
		if changed > 0 {
			logger.Info("Shard labels brought up to date", "objects", changed)
		}
		select {
		case <-ctx.Done():
		case <-time.After(next):
		}
	}
}

// pass labels what is labelled for another number of shards. It goes on after errors.
func pass(ctx context.Context, storages []Storage) (changed int, err error) {
	var errs []error
	for _, storage := range storages {
		// What is in the watch cache is new enough: an object that is written meanwhile is
		// labelled by that.
		list, err := storage.List(ctx, &metainternalversion.ListOptions{ResourceVersion: "0"})
		if err != nil {
			errs = append(errs, fmt.Errorf("listing: %w", err))
			continue
		}
		err = meta.EachListItem(list, func(obj runtime.Object) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !storage.Stale(ctx, obj) {
				return nil
			}
			if err := storage.Relabel(ctx, obj); err != nil {
				errs = append(errs, err)
				return nil
			}
			changed++
			return nil
		})
		errs = append(errs, err)
	}
	return changed, errors.Join(errs...)
}
