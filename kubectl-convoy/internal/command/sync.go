// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
)

// newSync is `kubectl convoy sync`.
func newSync(env *environment) *cobra.Command {
	var force, wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "sync RELEASE",
		Short: "Ask for a sync of a Release",
		Long: "Ask for a sync of a Release: its source is looked at now, and every object is applied once more.\n\n" +
			"With --force, objects whose immutable fields changed are deleted and created again.\n" +
			"With --wait, the command ends when the Release is Ready again, or with status 1 when it is not\n" +
			"within --timeout; what happens meanwhile is told on the standard error stream.",
		Example:           "  kubectl convoy sync web\n  kubectl convoy sync web --wait --timeout 2m\n  kubectl convoy sync web --force",
		Args:              oneRelease,
		ValidArgsFunction: env.completeRelease,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, namespace, err := env.connect()
			if err != nil {
				return err
			}
			release, err := requestSync(cmd.Context(), client, namespace, args[0], force)
			if err != nil {
				return err
			}
			fmt.Fprintf(env.Out, "release.core.convoy.kumodo.io/%s sync requested\n", release.Name)
			if release.Spec.Suspend {
				fmt.Fprintf(env.ErrOut, "warning: Release %s/%s is suspended; nothing happens until spec.suspend is false\n", namespace, release.Name)
			}
			if !wait {
				return nil
			}
			return env.waitForSync(cmd.Context(), client, release, timeout)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "Delete and create again the objects whose immutable fields changed.")
	cmd.Flags().BoolVar(&wait, "wait", false, "Wait until the Release is Ready.")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "How long to wait, with --wait.")
	return cmd
}

func requestSync(ctx context.Context, client versioned.Interface, namespace, name string, force bool) (*corev1alpha1.Release, error) {
	request := client.CoreV1alpha1().RESTClient().Post().
		Namespace(namespace).Resource("releases").Name(name).SubResource("sync")
	if force {
		request = request.Param("force", "true")
	}
	release := &corev1alpha1.Release{}
	if err := request.Do(ctx).Into(release); err != nil {
		return nil, fmt.Errorf("sync of Release %s/%s: %w", namespace, name, err)
	}
	return release, nil
}

// waitForSync returns when the requested sync is done and the Release is Ready.
func (e *environment) waitForSync(ctx context.Context, client versioned.Interface, requested *corev1alpha1.Release, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last string
	tell := func(text string) {
		if text != "" && text != last {
			fmt.Fprintln(e.ErrOut, text)
			last = text
		}
	}
	_, err := watchtools.UntilWithSync(ctx, releaseListWatch(client, requested), &corev1alpha1.Release{}, nil, func(event watch.Event) (bool, error) {
		release, ok := event.Object.(*corev1alpha1.Release)
		if !ok {
			return false, nil
		}
		if event.Type == watch.Deleted {
			return false, fmt.Errorf("Release %s/%s was deleted", release.Namespace, release.Name)
		}
		done, text := syncProgress(requested, release)
		tell(text)
		return done, nil
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("Release %s/%s is not Ready after %s: %s", requested.Namespace, requested.Name, timeout, last)
	}
	return err
}

func releaseListWatch(client versioned.Interface, release *corev1alpha1.Release) cache.ListerWatcher {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, release.Name).String()
	releases := client.CoreV1alpha1().Releases(release.Namespace)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return releases.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return releases.Watch(ctx, options)
		},
	}
}

// syncProgress tells whether the request carried by requested has been handled and the
// Release is Ready since, and one line about where it stands.
func syncProgress(requested, now *corev1alpha1.Release) (done bool, text string) {
	handled := now.Status.Sync != nil &&
		reached(now.Status.Sync.LastHandledAt, requested.Annotations[corev1alpha1.AnnotationSyncRequestedAt]) &&
		reached(now.Status.Sync.LastHandledForceAt, requested.Annotations[corev1alpha1.AnnotationSyncForceRequestedAt])
	ready := meta.FindStatusCondition(now.Status.Conditions, corev1alpha1.ConditionReady)
	if ready == nil {
		return false, "waiting for the first pass"
	}
	text = fmt.Sprintf("%s: %s", ready.Reason, ready.Message)
	return handled && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == now.Generation, text
}

// reached tells whether the handled request is the wanted one or a later one.
func reached(handled, wanted string) bool {
	if handled == wanted {
		return true
	}
	handledAt, err := time.Parse(time.RFC3339Nano, handled)
	if err != nil {
		return false
	}
	wantedAt, err := time.Parse(time.RFC3339Nano, wanted)
	return err != nil || !handledAt.Before(wantedAt)
}
