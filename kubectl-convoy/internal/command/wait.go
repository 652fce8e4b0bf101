// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// waitForSyncs waits for each of the requested syncs, at once. Its error has those of all
// that did not end well.
func (e *environment) waitForSyncs(ctx context.Context, client versioned.Interface, requested []*corev1alpha1.Release, timeout time.Duration) error {
	if len(requested) == 1 {
		return waitForSync(ctx, client, requested[0], timeout, e.ErrOut)
	}
	out := &sharedWriter{w: e.ErrOut}
	failures := make([]error, len(requested))
	var waiting sync.WaitGroup
	for i, release := range requested {
		waiting.Go(func() {
			failures[i] = waitForSync(ctx, client, release, timeout, &prefixWriter{out, fullName(release) + ": "})
		})
	}
	waiting.Wait()
	return errors.Join(failures...)
}

// sharedWriter lets several write at once, each a line at a time.
type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sharedWriter) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(line)
}

// prefixWriter writes a prefix before each line that it is given.
type prefixWriter struct {
	w      io.Writer
	prefix string
}

func (p *prefixWriter) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append([]byte(p.prefix), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

// waitForSync returns when the requested sync is done and the Release is Ready, and tells
// meanwhile where it stands. Errors: no sync comes to the Release however long one waits,
// the Release may not be watched, the timeout is over, or ctx has ended.
func waitForSync(ctx context.Context, client versioned.Interface, requested *corev1alpha1.Release, timeout time.Duration, out io.Writer) error {
	if err := hopeless(requested); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	watching, giveUp := context.WithCancelCause(limited)
	defer giveUp(nil)
	f := &follower{requested: requested, out: out, giveUp: giveUp}
	// What the library would log of failures, the follower tells.
	_, err := watchtools.UntilWithSync(klog.NewContext(watching, logr.Discard()), f.listWatch(client), &corev1alpha1.Release{}, nil, f.see)
	if err == nil || !wait.Interrupted(err) {
		return err
	}
	switch cause := context.Cause(watching); {
	case errors.Is(cause, context.DeadlineExceeded):
		return f.late(timeout)
	case errors.Is(cause, context.Canceled):
		return fmt.Errorf("interrupted: the sync of Release %s goes on", fullName(requested))
	default:
		return fmt.Errorf("watching Release %s: %w", fullName(requested), cause)
	}
}

// hopeless gives an error for a Release that is not synced however long one waits.
func hopeless(release *corev1alpha1.Release) error {
	switch {
	case !release.DeletionTimestamp.IsZero():
		return fmt.Errorf("Release %s is being deleted, and is not synced any more", fullName(release))
	case release.Spec.Suspend:
		return fmt.Errorf("Release %s is suspended, its sync is not waited for; once it is resumed, the sync follows: %s",
			fullName(release), wayout.Resume(release, releaseKind.name))
	}
	return nil
}

// follower tells where a requested sync stands. Its methods may be called at once.
type follower struct {
	requested *corev1alpha1.Release
	giveUp    context.CancelCauseFunc

	mu   sync.Mutex
	out  io.Writer
	told string
	// toldHooks are the ends of hooks that were told.
	toldHooks map[string]bool
	// last is what was seen last, and lost why nothing newer can be seen, nil when it can.
	last standing
	lost error
}

// listWatch lists and watches the Release.
func (f *follower) listWatch(client versioned.Interface) cache.ListerWatcher {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, f.requested.Name).String()
	releases := client.CoreV1alpha1().Releases(f.requested.Namespace)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			list, err := releases.List(ctx, options)
			f.asked(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			events, err := releases.Watch(ctx, options)
			f.asked(ctx, err)
			return events, err
		},
	}
}

// asked looks at how the server was asked for the Release. What failed is asked for again;
// what will be refused again ends the wait.
func (f *follower) asked(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		f.giveUp(err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = err
	if err != nil {
		f.tell(fmt.Sprintf("watching Release %s is tried again: %v", fullName(f.requested), err))
	}
}

// see looks at what became of the Release; done when its sync is.
func (f *follower) see(event watch.Event) (done bool, err error) {
	release, ok := event.Object.(*corev1alpha1.Release)
	if !ok {
		return false, nil
	}
	if event.Type == watch.Deleted {
		return false, fmt.Errorf("Release %s was deleted", fullName(release))
	}
	if err := hopeless(release); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = standingOf(f.requested, release)
	f.tellHooks(release)
	f.tell(f.last.progress())
	return f.last.done, nil
}

// tellHooks tells of hooks that have ended since the request; that they run is told by what
// the sync waits for. The follower is locked.
func (f *follower) tellHooks(release *corev1alpha1.Release) {
	if f.toldHooks == nil {
		f.toldHooks = map[string]bool{}
		for _, hook := range hooksOf(f.requested) {
			f.toldHooks[endOf(hook)] = true
		}
	}
	for _, hook := range hooksOf(release) {
		if hook.Phase == corev1alpha1.HookRunning || f.toldHooks[endOf(hook)] {
			continue
		}
		f.toldHooks[endOf(hook)] = true
		text := fmt.Sprintf("%s hook %s %s", hook.On, hook.Name, hook.Phase)
		if hook.StartedAt != nil && hook.FinishedAt != nil {
			text += " after " + duration.HumanDuration(hook.FinishedAt.Sub(hook.StartedAt.Time))
		}
		fmt.Fprintln(f.out, text)
	}
}

func hooksOf(release *corev1alpha1.Release) []corev1alpha1.HookStatus {
	if release.Status.Lifecycle == nil {
		return nil
	}
	return release.Status.Lifecycle.Hooks
}

// endOf tells the ends of runs of hooks apart. A run that is forced has the same name.
func endOf(hook corev1alpha1.HookStatus) string {
	uid := ""
	if hook.Object != nil {
		uid = string(hook.Object.UID)
	}
	return strings.Join([]string{hook.Name, string(hook.On), string(hook.Phase), uid}, " ")
}

// tell writes what is not "" and was not told last. The follower is locked.
func (f *follower) tell(text string) {
	if text != "" && text != f.told {
		fmt.Fprintln(f.out, text)
		f.told = text
	}
}

// late is the error of a sync that takes longer than is waited for.
func (f *follower) late(timeout time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := fullName(f.requested)
	switch {
	case f.lost != nil:
		return fmt.Errorf("it is not known whether Release %s is synced after %s: %w", name, timeout, f.lost)
	case f.last.approve != "":
		return fmt.Errorf("Release %s still waits for the approval of %s after %s; once it is given, the sync follows", name, f.last.text, timeout)
	case f.last.text == "":
		return fmt.Errorf("Release %s is not synced after %s: convoy-controller-manager has said nothing about the request yet, does it run?", name, timeout)
	case f.last.handled:
		return fmt.Errorf("Release %s is not Ready after %s: %s", name, timeout, f.last.text)
	}
	return fmt.Errorf("Release %s is not synced after %s: %s", name, timeout, f.last.text)
}

func fullName(release *corev1alpha1.Release) string { return release.Namespace + "/" + release.Name }

// pollFor asks until condition holds, for timeout at most, after which wait.Interrupted tells its
// error: a request that was under way then has not failed.
func pollFor(ctx context.Context, interval, timeout time.Duration, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, interval, timeout, true, func(ctx context.Context) (bool, error) {
		done, err := condition(ctx)
		if err != nil && strings.Contains(err.Error(), beyondDeadline) {
			<-ctx.Done() // it was not sent, since its turn would not have come before that
		}
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		return done, err
	})
}

// beyondDeadline is in the error of a client that limits its requests, which has no type.
const beyondDeadline = "would exceed context deadline"
