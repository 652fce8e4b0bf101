// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// Target is the cluster in which live objects are looked at. Its requests are refused by
// the transport unless they read or dry-run.
type Target interface {
	Dynamic() dynamic.Interface
	Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error)
}

// Comparer compares objects of one Release with its target cluster.
type Comparer struct {
	Target       Target
	Installation string
	Release      *corev1alpha1.Release
	// Defines tells whether the render itself defines the kind, so that the target cluster
	// need not know it yet; may be nil.
	Defines func(gk schema.GroupKind) bool
}

// Outcome is how one desired object relates to the live one.
type Outcome struct {
	Action  corev1alpha1.ObjectAction
	Changes []corev1alpha1.FieldChange
	// Live is the object in the cluster, nil when there is none.
	Live *unstructured.Unstructured
	// Result is what applying would make of it; nil when it could not be asked.
	Result *unstructured.Unstructured
	// Simulated is true when the cluster could not be asked because the kind or namespace
	// is created by the same sync.
	Simulated bool
	Message   string
	// Err is the error behind ActionError.
	Err error
}

// Compare asks the target what applying the desired object would change. Failures come
// back as an Outcome with ActionError: one object that cannot be compared must not hide
// the others.
func (c *Comparer) Compare(ctx context.Context, desired render.Object) Outcome {
	resource, err := c.resource(ctx, desired.Object)
	if meta.IsNoMatchError(err) && c.Defines != nil && c.Defines(desired.Object.GroupVersionKind().GroupKind()) {
		return Outcome{Action: corev1alpha1.ActionCreate, Simulated: true, Message: "the kind is defined by the same sync"}
	}
	if err != nil {
		return failed(err)
	}
	for range maxReads - 1 {
		if outcome, settled := c.compareNow(ctx, resource, desired); settled {
			return outcome
		}
	}
	outcome, _ := c.compareNow(ctx, resource, desired)
	return outcome
}

// maxReads is how often an object that changes between the read and the dry run is read.
const maxReads = 4

// compareNow reads and dry-runs the object. settled is false when somebody wrote to it in
// between: then the two differ for no fault of the live object.
func (c *Comparer) compareNow(ctx context.Context, resource dynamic.ResourceInterface, desired render.Object) (outcome Outcome, settled bool) {
	live, err := resource.Get(ctx, desired.Object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		live, err = nil, nil
	}
	if err != nil {
		return failed(err), true
	}
	if live != nil {
		if owner, foreign := c.foreign(live); foreign {
			return Outcome{Action: corev1alpha1.ActionError, Live: live, Message: "belongs to Release " + owner,
				Err: fmt.Errorf("belongs to Release %s", owner)}, true
		}
	}
	result, err := c.dryRun(ctx, resource, desired.Object)
	return c.outcome(desired, live, result, err), live == nil || result == nil || result.GetResourceVersion() == live.GetResourceVersion()
}

// Live reads an object that is named by an inventory; nil when it is gone.
func (c *Comparer) Live(ctx context.Context, key corev1alpha1.ObjectKey) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: key.Group, Version: key.Version, Kind: key.Kind})
	object.SetNamespace(key.Namespace)
	resource, err := c.resource(ctx, object)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	live, err := resource.Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

func (c *Comparer) resource(ctx context.Context, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := c.Target.Mapping(ctx, object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	client := c.Target.Dynamic().Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return client.Namespace(object.GetNamespace()), nil
	}
	return client, nil
}

// foreign tells whether another Release owns the live object.
func (c *Comparer) foreign(live *unstructured.Unstructured) (string, bool) {
	owner := live.GetAnnotations()[corev1alpha1.AnnotationRelease]
	own := corev1alpha1.ReleaseAnnotationValue(c.Installation, c.Release.Namespace, c.Release.Name)
	return owner, owner != "" && owner != own
}

func (c *Comparer) dryRun(ctx context.Context, resource dynamic.ResourceInterface, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object := desired.DeepCopy()
	render.Mark(object, c.Installation, c.Release.Namespace, c.Release.Name)
	data, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	force := c.Release.Spec.Sync.Conflicts != corev1alpha1.ConflictsFail
	return resource.Patch(ctx, desired.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{
		FieldManager: corev1alpha1.FieldManager, Force: &force, DryRun: []string{metav1.DryRunAll},
	})
}

// outcome turns the answer of the dry run into an action.
func (c *Comparer) outcome(desired render.Object, live, result *unstructured.Unstructured, err error) Outcome {
	switch {
	case err == nil && live == nil:
		return Outcome{Action: corev1alpha1.ActionCreate, Result: result}
	case err == nil:
		changes := withoutIgnored(c.Release, desired, Fields(live.Object, result.Object))
		action := corev1alpha1.ActionUnchanged
		if len(changes) > 0 {
			action = corev1alpha1.ActionUpdate
		}
		return Outcome{Action: action, Changes: changes, Live: live, Result: result}
	case live == nil && apierrors.IsNotFound(err):
		return Outcome{Action: corev1alpha1.ActionCreate, Simulated: true, Message: "its namespace does not exist yet"}
	case live != nil && immutable(err) && c.Release.Spec.Sync.Replace == corev1alpha1.ReplaceOnImmutable:
		changes := partial(live.Object, desired.Object.Object)
		return Outcome{Action: corev1alpha1.ActionRecreate, Changes: changes, Live: live, Message: err.Error()}
	}
	outcome := failed(err)
	outcome.Live = live
	return outcome
}

func failed(err error) Outcome {
	return Outcome{Action: corev1alpha1.ActionError, Message: err.Error(), Err: err}
}

// immutable tells whether the API server refused a change of fields that cannot change:
// every cause it gives is a field that is invalid or forbidden on update.
func immutable(err error) bool {
	status, ok := err.(apierrors.APIStatus)
	if !ok || !apierrors.IsInvalid(err) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldValueInvalid && cause.Type != metav1.CauseTypeForbidden {
			return false
		}
	}
	return true
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

func withoutIgnored(release *corev1alpha1.Release, desired render.Object, changes []corev1alpha1.FieldChange) []corev1alpha1.FieldChange {
	paths := ignoredPaths(release, desired.Object)
	if len(paths) == 0 {
		return changes
	}
	var kept []corev1alpha1.FieldChange
	for _, change := range changes {
		if !Ignored(change, paths) {
			kept = append(kept, change)
		}
	}
	return kept
}

func ignoredPaths(release *corev1alpha1.Release, object *unstructured.Unstructured) []string {
	if release.Spec.Drift == nil {
		return nil
	}
	var paths []string
	for _, ignore := range release.Spec.Drift.Ignore {
		if render.Selects(ignore.Target, object) {
			paths = append(paths, ignore.Paths...)
		}
	}
	return paths
}
