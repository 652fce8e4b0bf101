// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// refused is the outcome for a live object that the server calls invalid in its new form.
// As there is no class of error for a field that cannot change, the server is asked whether
// it would create the object: if so, it refused the change.
func (c *Comparer) refused(ctx context.Context, resource dynamic.ResourceInterface, key corev1alpha1.ObjectKey,
	live, body *unstructured.Unstructured, cause error,
) Outcome {
	outcome := failed(cause)
	outcome.Live = live
	_, err := c.ask(ctx, dryRunTimeout, key, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return resource.Create(ctx, body, metav1.CreateOptions{FieldManager: corev1alpha1.FieldManager, DryRun: []string{metav1.DryRunAll}})
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return outcome
	}
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
