// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"
)

// watchFunc watches objects, as the clients do.
type watchFunc func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)

// WatchWithContext is what the library asks for.
func (f watchFunc) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return f(ctx, options)
}

// watchFrom hands on what becomes of objects after a version of their list, deleted ones too,
// until ctx ends, which is no error. A connection that breaks is made again.
func watchFrom(ctx context.Context, version string, watch watchFunc, changed func(runtime.Object) error) error {
	watcher, err := watchtools.NewRetryWatcherWithContext(klog.NewContext(ctx, logr.Discard()), version, watch)
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-watcher.ResultChan():
			if !open {
				return nil
			}
			if err := handOn(event, changed); err != nil {
				return err
			}
		}
	}
}

func handOn(event watch.Event, changed func(runtime.Object) error) error {
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		return changed(event.Object)
	case watch.Error:
		return apierrors.FromObject(event.Object)
	}
	return nil
}
