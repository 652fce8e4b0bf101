// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/e2e/bench/parallel"
	"kumodo.io/convoy/e2e/framework/gitserver"
)

// waitTimeout bounds what is waited for: far more than anything takes.
const waitTimeout = 10 * time.Minute

// clients is how many requests to the host are made at once.
const clients = 16

// releases are the Releases of the namespace.
type releases struct {
	api     versioned.Interface
	touched int
}

// release is the Release of a folder of the repository.
func release(name string) *corev1alpha1.Release {
	return &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1alpha1.ReleaseSpec{
			ClusterRef: corev1alpha1.LocalReference{Name: clusterName},
			Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{
				RepositoryRef: corev1alpha1.LocalReference{Name: repositoryName}, Ref: corev1alpha1.GitRef{Branch: gitserver.DefaultBranch}, Path: name,
			}},
		},
	}
}

// each does something for each of some Releases.
func (r *releases) each(ctx context.Context, names []string, do func(ctx context.Context, name string) error) error {
	return parallel.Do(ctx, clients, len(names), func(ctx context.Context, n int) error { return do(ctx, names[n]) })
}

func (r *releases) create(ctx context.Context, name string) error {
	_, err := r.api.CoreV1alpha1().Releases(namespace).Create(ctx, release(name), metav1.CreateOptions{})
	return err
}

func (r *releases) delete(ctx context.Context, name string) error {
	return r.api.CoreV1alpha1().Releases(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

func (r *releases) sync(ctx context.Context, name string) error {
	_, err := r.api.CoreV1alpha1().Releases(namespace).Sync(ctx, name, corev1alpha1.ReleaseSyncOptions{})
	return err
}

// touch changes the GitRepository in something that makes every Release look at it again.
func (r *releases) touch(ctx context.Context) error {
	r.touched++
	patch := fmt.Sprintf(`{"spec":{"timeout":"%ds"}}`, 100+r.touched)
	_, err := r.api.SourceV1alpha1().GitRepositories(namespace).Patch(ctx, repositoryName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// isApplied says that the Release is applied as it is, and handled every request to sync.
func isApplied(r *corev1alpha1.Release) bool {
	return handled(r) && r.Status.Applied != nil && r.Status.ObservedGeneration == r.Generation && meta.IsStatusConditionTrue(r.Status.Conditions, corev1alpha1.ConditionApplied)
}

// handled says that the last request to sync was handled.
func handled(r *corev1alpha1.Release) bool {
	asked := r.Annotations[corev1alpha1.AnnotationSyncRequestedAt]
	return asked == "" || (r.Status.Sync != nil && asked == r.Status.Sync.LastHandledAt)
}

// sees says that a commit is the revision of the Release.
func sees(commit string) func(*corev1alpha1.Release) bool {
	return func(r *corev1alpha1.Release) bool {
		return r.Status.Source != nil && strings.Contains(r.Status.Source.Revision, commit)
	}
}

// has says that a commit is applied.
func has(commit string) func(*corev1alpha1.Release) bool {
	return func(r *corev1alpha1.Release) bool {
		return isApplied(r) && strings.Contains(r.Status.Applied.Revision, commit)
	}
}

// until does something and gives the time until all the named Releases are so.
func (r *releases) until(ctx context.Context, names []string, are func(*corev1alpha1.Release) bool, do func() error) (time.Duration, error) {
	left := map[string]bool{}
	for _, name := range names {
		left[name] = true
	}
	started := time.Now()
	err := r.watching(ctx, do, func(event watch.EventType, release *corev1alpha1.Release) bool {
		if event != watch.Deleted && left[release.Name] && are(release) {
			delete(left, release.Name)
		}
		return len(left) == 0
	})
	if err != nil {
		return 0, fmt.Errorf("%d of %d Releases are not so far: %w", len(left), len(names), err)
	}
	return time.Since(started), nil
}

// gone does something and gives the time until none of the named Releases exists.
func (r *releases) gone(ctx context.Context, names []string, do func() error) (time.Duration, error) {
	left := map[string]bool{}
	for _, name := range names {
		left[name] = true
	}
	started := time.Now()
	err := r.watching(ctx, do, func(event watch.EventType, release *corev1alpha1.Release) bool {
		if event == watch.Deleted {
			delete(left, release.Name)
		}
		return len(left) == 0
	})
	if err != nil {
		return 0, fmt.Errorf("%d of %d Releases are still there: %w", len(left), len(names), err)
	}
	return time.Since(started), nil
}

// watching does something and sees what becomes of Releases from then on, until it is enough.
func (r *releases) watching(ctx context.Context, do func() error, enough func(watch.EventType, *corev1alpha1.Release) bool) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	list, err := r.api.CoreV1alpha1().Releases(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	// Servers end watches after a while.
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return r.api.CoreV1alpha1().Releases(namespace).Watch(ctx, options)
		},
	})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	done := make(chan error, 1)
	go func() { done <- do() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			done = nil
		case event, ok := <-watcher.ResultChan():
			if !ok {
				return errors.Join(errors.New("the watch ended"), ctx.Err())
			}
			release, is := event.Object.(*corev1alpha1.Release)
			if !is {
				return fmt.Errorf("the watch told %T", event.Object)
			}
			if enough(event.Type, release) {
				return nil
			}
		}
	}
}
