// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/managed"
	"kumodo.io/convoy/render"
)

// refused is the outcome for a live object that the server calls invalid in its new form. What
// others put beside the desired fields, where the two cannot be together, a sync takes away.
// Else it is a field that cannot change only if the server says so, and would create the object.
func (c *Comparer) refused(ctx context.Context, resource dynamic.ResourceInterface, key corev1alpha1.ObjectKey,
	desired, live, body *unstructured.Unstructured, cause error,
) (outcome Outcome, moved bool) {
	_, result, cause := managed.InTheWay(live, body, cause, func(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return c.dryReplacement(ctx, resource, key, live, object)
	}, func(err error) bool { return apierrors.IsInvalid(err) && !Denied(err) })
	if cause == nil {
		outcome = c.difference(desired, live, result)
		if outcome.Action == corev1alpha1.ActionUnchanged { // a default, such as a protocol, tells the items apart
			outcome = differs(live, result, c.changes(desired, live, result))
		}
		if c.Release.Spec.Sync.Conflicts == corev1alpha1.ConflictsFail && outcome.Action != corev1alpha1.ActionUnchanged {
			outcome.Message = "a sync fails while spec.sync.conflicts is fail: what other field managers wrote cannot be together with what is desired"
			outcome.Reason = corev1alpha1.ReasonApplyConflict
		}
		return outcome, changed(live, result)
	}
	outcome = failed(cause)
	outcome.Live = live
	if !slices.ContainsFunc(causesOf(cause), managed.Immutable) {
		return outcome, false
	}
	_, err := c.ask(ctx, dryRunTimeout, key, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return resource.Create(ctx, body, metav1.CreateOptions{FieldManager: corev1alpha1.FieldManager, DryRun: []string{metav1.DryRunAll}})
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return outcome, false
	}
	return c.unchangeable(live, body, outcome), false
}

// unchangeable is the outcome for an object of which the server says that fields cannot change.
func (c *Comparer) unchangeable(live, body *unstructured.Unstructured, outcome Outcome) Outcome {
	cause := outcome.Err
	outcome.Changes, outcome.Reason = partial(live.Object, body.Object), corev1alpha1.ReasonImmutableField
	outcome.Message = "fields cannot be changed: " + causeFields(cause)
	_, irreplaceable := render.Irreplaceable(body.GroupVersionKind().GroupKind())
	switch {
	case irreplaceable:
		outcome.Message += "; an object of this kind is never replaced: undo the change, or delete it by hand"
	case Protected(live) || Protected(body):
		outcome.Message += "; not replaced, because the object is marked as never to be deleted"
	case c.Release.Spec.Sync.Replace != corev1alpha1.ReplaceOnImmutable:
		outcome.Message += "; undo the change, or have the object replaced with spec.sync.replace: onImmutable or a forced sync"
	default:
		outcome.Action, outcome.Result, outcome.Err, outcome.Reason = corev1alpha1.ActionRecreate, body, nil, ""
		return outcome
	}
	outcome.Err = fmt.Errorf("%s: %w", outcome.Message, cause)
	return outcome
}

// Protected tells the marks by which an object is never deleted.
func Protected(obj *unstructured.Unstructured) bool {
	annotations := obj.GetAnnotations()
	return annotations[corev1alpha1.AnnotationPrune] == corev1alpha1.PruneDisabled ||
		strings.ToLower(strings.TrimSpace(annotations["helm.sh/resource-policy"])) == "keep"
}

// causeFields lists the fields that the server complained about.
func causeFields(err error) string {
	var fields []string
	for _, cause := range causesOf(err) {
		fields = append(fields, cause.Field)
	}
	return strings.Join(fields, ", ")
}

// partial lists the desired fields that differ from the live ones, for an object whose
// result cannot be asked of the server.
func partial(live, desired map[string]any) []corev1alpha1.FieldChange {
	var changes []corev1alpha1.FieldChange
	for _, change := range Fields(live, desired) {
		if change.To != "" {
			changes = append(changes, change)
		}
	}
	return changes
}
