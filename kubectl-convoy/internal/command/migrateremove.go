// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
	"kumodo.io/convoy/kubectl-convoy/internal/output"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// remove deletes objects that were handed over. One that may not go does not keep the others.
func (r *migrationRun) remove(ctx context.Context, objects []chosen) error {
	var due []chosen
	var failures []error
	for _, object := range objects {
		if err := r.mayGo(ctx, object); err != nil {
			failures = append(failures, fmt.Errorf("%s %s/%s: %w", object.kind.name, object.GetNamespace(), object.GetName(), err))
			continue
		}
		due = append(due, object)
	}
	if len(due) > 0 {
		if err := r.confirm(r.choice, due, "deleted, and nothing of what they delivered"); err != nil {
			return err
		}
	}
	for _, object := range due {
		if err := r.removeOne(ctx, object); err != nil {
			failures = append(failures, fmt.Errorf("%s %s/%s: %w", object.kind.name, object.GetNamespace(), object.GetName(), err))
		}
	}
	return errors.Join(failures...)
}

// mayGo says why an object may not be deleted yet.
func (r *migrationRun) mayGo(ctx context.Context, object chosen) error {
	to := object.GetAnnotations()[migrate.AnnotationTo]
	if to == "" {
		return errNotHandedOver
	}
	if !r.tool.still(object.Unstructured) {
		return errors.New("it is not stopped any more, and would take with it what it delivered: hand it over once more with --apply")
	}
	if owner := object.GetAnnotations()[corev1alpha1.AnnotationRelease]; owner != "" {
		return fmt.Errorf("Release %s delivers it: take it out of the source, and it goes with the next sync, and with it nothing that it delivered", owner)
	}
	maker, err := r.tool.remade(object.Unstructured, r.reader)
	if err != nil {
		return err
	}
	if maker != "" {
		return fmt.Errorf("%s would make it again: take it out of the source, or hand that over first", maker)
	}
	var has []corev1alpha1.ObjectKey
	for name := range strings.SplitSeq(to, ",") {
		keys, err := r.holds(ctx, object, name)
		if err != nil {
			return err
		}
		has = append(has, keys...)
	}
	was, known, err := r.tool.applied(object.Unstructured, r.reader)
	if err != nil || !known {
		return err
	}
	if missing := migrate.Missing(was, has); len(missing) > 0 {
		names := make([]string, len(missing))
		for i, key := range missing {
			names[i] = naming.Object(key)
		}
		return fmt.Errorf("nobody would have %s any more, which convoy does not have: delete it, or put it into the source", strings.Join(names, ", "))
	}
	return nil
}

// holds gives what a Release has in the place of an object. The error says why it does not, or
// not yet.
func (r *migrationRun) holds(ctx context.Context, object chosen, fullname string) ([]corev1alpha1.ObjectKey, error) {
	namespace, name, _ := strings.Cut(fullname, "/")
	release, err := r.api.CoreV1alpha1().Releases(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("Release %s: %w", fullname, err)
	}
	m := &migrate.Migration{Old: object.Unstructured}
	if release.Annotations[migrate.AnnotationFrom] != m.From() {
		return nil, fmt.Errorf("Release %s is not the one that it was handed over to", fullname)
	}
	ready := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionReady)
	switch {
	case release.Spec.Suspend:
		return nil, fmt.Errorf("Release %s is suspended: %s", fullname, wayout.Resume(release, releaseKind.name))
	case ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != release.Generation || release.Status.Applied == nil:
		return nil, fmt.Errorf("Release %s is not Ready: %s", fullname, wayout.Command(namespace, "why", name))
	}
	return r.entries(ctx, release)
}

// removeOne deletes an object as it was looked at, and waits until it is gone.
func (r *migrationRun) removeOne(ctx context.Context, object chosen) error {
	resource := r.client.Resource(object.kind.resource).Namespace(object.GetNamespace())
	uid, version := object.GetUID(), object.GetResourceVersion()
	err := resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if err != nil {
		return err
	}
	last := object.Unstructured
	err = pollFor(ctx, 200*time.Millisecond, r.timeout, func(ctx context.Context) (bool, error) {
		now, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && now.GetUID() != uid:
			return true, nil
		case err == nil:
			last = now
		}
		return false, err
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("it is still there after %s, because of its finalizers %s: does the controller run that takes them off?", r.timeout, strings.Join(slices.Sorted(slices.Values(last.GetFinalizers())), ", "))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "%s deleted\n", output.NameOf(object.Unstructured))
	m := &migrate.Migration{Old: object.Unstructured}
	for _, text := range r.tool.left(m) {
		fmt.Fprintf(r.ErrOut, "%s: %s\n", m.Name(), text)
	}
	return nil
}
