// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/managed"
	"kumodo.io/convoy/render"
)

// refused finds out why the server called an existing object invalid. What others put beside
// the desired fields, where the two cannot be together, is taken away. An object of which the
// server says that its fields cannot change is replaced, where that may be done.
func (d *delivery) refused(ctx context.Context, cause error) (*unstructured.Unstructured, Action, error) {
	creatable, obstacle := d.creatable(ctx)
	if !creatable && (apierrors.IsInvalid(obstacle) || !saysImmutable(cause)) {
		return nil, "", cause
	}
	if !saysImmutable(cause) {
		live, err := d.clear(ctx, cause)
		if err == nil {
			return live, Configured, terminating(live)
		}
		if cause = err; !apierrors.IsInvalid(cause) || !hasCause(cause, managed.Immutable) {
			return nil, "", cause
		}
	}
	live, err := d.client.Get(ctx, d.key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	if err := terminating(live); err != nil {
		return nil, "", err
	}
	immutable := &ImmutableError{Paths: changedPaths(cause, d.desired, live), cause: cause}
	if immutable.Hint = d.notReplaced(live, obstacle); immutable.Hint != "" {
		return nil, "", immutable
	}
	return d.recreate(ctx, live, immutable)
}

// creatable asks the server whether it would accept the object as a new one. If not, it
// gives what the server has against it.
func (d *delivery) creatable(ctx context.Context) (bool, error) {
	candidate := d.desired.DeepCopy()
	if groupKind(candidate) == serviceKind {
		withoutNodePorts(candidate)
	}
	_, err := d.client.Create(ctx, candidate, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: corev1alpha1.FieldManager,
	})
	if err == nil || apierrors.IsAlreadyExists(err) {
		return true, nil
	}
	return false, err
}

// withoutNodePorts takes out the ports that the live Service holds itself.
func withoutNodePorts(service *unstructured.Unstructured) {
	unstructured.RemoveNestedField(service.Object, "spec", "healthCheckNodePort")
	ports, _, _ := unstructured.NestedFieldNoCopy(service.Object, "spec", "ports")
	list, _ := ports.([]any)
	for _, port := range list {
		if p, ok := port.(map[string]any); ok {
			delete(p, "nodePort")
		}
	}
}

// saysImmutable tells that every cause of an answer names a field that cannot change.
func saysImmutable(err error) bool {
	return len(causes(err)) > 0 && !hasCause(err, func(c metav1.StatusCause) bool { return !managed.Immutable(c) })
}

// notReplaced gives the reason why the object is not deleted and created again, "" when
// it may be.
func (d *delivery) notReplaced(live *unstructured.Unstructured, obstacle error) string {
	if lost, ok := render.Irreplaceable(groupKind(live)); ok {
		return "deleting it would delete " + lost + ", which convoy never does to change it: undo the change, or delete it by hand"
	}
	switch {
	case !d.replace:
		return "undo the change, or have the object deleted and created again with spec.sync.replace: onImmutable or a forced sync"
	case obstacle != nil:
		return "not replaced, because the server would not create it again: " + message(obstacle, d.key)
	case !d.owns(live):
		return "not replaced, because the live object is not this Release's yet: delete it by hand"
	case kept(live) != "" || kept(d.desired) != "" || d.known.Keep:
		return "not replaced, because the object is marked as never to be deleted"
	}
	return ""
}

// recreate deletes the live object and creates the desired one if the live one is gone at
// once; otherwise a later pass creates it.
func (d *delivery) recreate(ctx context.Context, live *unstructured.Unstructured, immutable *ImmutableError) (*unstructured.Unstructured, Action, error) {
	propagation := metav1.DeletePropagationBackground
	if groupKind(live) == statefulSetKind {
		// Its pods and claims go on, and the new one takes them over.
		propagation = metav1.DeletePropagationOrphan
	}
	err := d.client.Delete(ctx, d.key.Name, deleteOptions(live, propagation))
	waiting := &WaitingError{cause: immutable,
		For: fmt.Sprintf("the old object to be gone: it is being replaced, because %s cannot be changed", first(immutable.Paths))}
	if outdated(err) {
		return nil, "", waiting
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, "", &requestError{message: "deleting the object to replace it: " + message(err, d.key), cause: err}
	}
	created, err := d.patch(ctx, d.desired, precondition{resourceVersion: noResourceVersion})
	if exists(err) {
		return nil, "", waiting
	}
	return created, Recreated, err
}

// deleteOptions are for deleting exactly the object that was read.
func deleteOptions(live *unstructured.Unstructured, propagation metav1.DeletionPropagation) metav1.DeleteOptions {
	uid, resourceVersion := live.GetUID(), live.GetResourceVersion()
	return metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &resourceVersion},
		PropagationPolicy: &propagation,
	}
}

// changedPaths gives the fields that an answer complains about. Where it names a whole,
// and the desired object differs from the live one inside it, the fields that differ are
// named instead.
func changedPaths(err error, desired, live *unstructured.Unstructured) []string {
	var paths []string
	for _, c := range causes(err) {
		changed := differences(c.Field, desired.Object, live.Object)
		if groupKind(desired) == statefulSetKind && c.Field == "spec" {
			changed = slices.DeleteFunc(changed, changeableInStatefulSet)
		}
		if len(changed) == 0 {
			changed = []string{c.Field}
		}
		paths = append(paths, changed...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// changeableInStatefulSet tells the paths that can change while the server's answer names
// only "spec" (see ValidateStatefulSetUpdate of Kubernetes).
func changeableInStatefulSet(path string) bool {
	for _, changeable := range []string{
		"spec.replicas", "spec.ordinals", "spec.template", "spec.updateStrategy",
		"spec.revisionHistoryLimit", "spec.persistentVolumeClaimRetentionPolicy", "spec.minReadySeconds",
	} {
		if path == changeable || strings.HasPrefix(path, changeable+".") {
			return true
		}
	}
	return false
}
