// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/render"
)

const (
	// readTimeout bounds a read of one object.
	readTimeout = 10 * time.Second
	// listTimeout bounds a list of a page of objects.
	listTimeout = 30 * time.Second
	// dryRunTimeout bounds a dry run, for which the server may have to ask webhooks.
	dryRunTimeout = 35 * time.Second
	// maxLooks bounds how often an object is looked at that others change meanwhile.
	maxLooks = 4
)

// Target is the cluster in which live objects are looked at. Its requests are refused by
// the transport unless they read or dry-run.
type Target interface {
	Dynamic() dynamic.Interface
	Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error)
	Invalidate()
}

// Comparer compares objects of one Release with its target cluster. It serves one pass: a
// target that has given no answer once is not asked again, so that a cluster that is away
// costs one timeout and not one for each object. It is safe for concurrent use.
type Comparer struct {
	Target       Target
	Installation string
	Release      *corev1alpha1.Release
	// Applied says that the objects compared are those that were applied last. Then a live one
	// that is as convoy left it needs no dry run, and what a dry run changes in other
	// fields is not theirs: a webhook that writes something else each time makes no difference.
	Applied bool
	// Defines tells whether the render itself defines the kind, so that the target cluster
	// need not know it yet; may be nil.
	Defines func(gk schema.GroupKind) bool
	// Creates tells whether the sync creates the namespace; nil: it does, whichever it is.
	Creates func(namespace string) bool
	// Reads reads objects instead of the Target's client, as somebody who may read less than
	// the Release; nil: the Release reads. Dry runs are the Release's, and of what could be
	// read only.
	Reads dynamic.Interface
	// Adopts says that what kubectl wrote of an object and nobody desires goes when it is
	// applied for the first time.
	Adopts bool
	// GivenUp tells of another Release, by its mark on an object, whether it has it no more or
	// will not in a moment, so that the object is taken over; nil: never.
	GivenUp func(ctx context.Context, owner string, key corev1alpha1.ObjectKey) bool

	rediscover sync.Once
	away       atomic.Pointer[error]
}

// Outcome is how one desired object relates to the live one.
type Outcome struct {
	Action corev1alpha1.ObjectAction
	// Changes are those of Fields: they show nothing of a Secret.
	Changes []corev1alpha1.FieldChange
	// Live is the object in the cluster, nil when there is none.
	Live *unstructured.Unstructured
	// Result is what applying would make of it, or as much of that as is known; nil with
	// ActionError.
	Result *unstructured.Unstructured
	// Simulated is true when the cluster could not be asked because the kind or namespace
	// is created by the same sync.
	Simulated bool
	Message   string
	// Reason is one of the API's, for what fails: an ActionError, or what a sync would not do
	// as things are.
	Reason string
	// Err is the error behind ActionError. It has a class of clusterconn where one fits,
	// and shows nothing of a Secret.
	Err error
}

// Compare asks the target what applying the desired object would change. Failures come
// back as an Outcome with ActionError: one object that cannot be compared must not hide
// the others.
func (c *Comparer) Compare(ctx context.Context, desired render.Object) Outcome {
	return c.CompareListed(ctx, desired, nil)
}

// CompareListed is Compare with a live object that has just been listed; nil: it is read.
func (c *Comparer) CompareListed(ctx context.Context, desired render.Object, listed *unstructured.Unstructured) Outcome {
	key := desired.Key()
	resource, err := c.resource(ctx, key, true)
	if meta.IsNoMatchError(err) && c.Defines != nil && c.Defines(desired.Object.GroupVersionKind().GroupKind()) {
		return c.defined(ctx, desired)
	}
	if err != nil {
		return failed(err)
	}
	for attempt := 1; ; attempt++ {
		outcome, moved := c.compare(ctx, resource, key, desired, listed)
		listed = nil
		if !moved || attempt == maxLooks {
			return outcome
		}
	}
}

// compare compares the desired object with the live one as it is now. moved is true when that
// changed between the two looks at it, so that a change of somebody else would be taken for
// one that applying makes.
func (c *Comparer) compare(ctx context.Context, resource dynamic.ResourceInterface, key corev1alpha1.ObjectKey,
	desired render.Object, live *unstructured.Unstructured,
) (outcome Outcome, moved bool) {
	var err error
	if live == nil {
		live, err = c.read(ctx, resource, key)
	}
	if err != nil {
		return failed(err), false
	}
	owner, foreign := c.foreign(live)
	if foreign && (c.GivenUp == nil || !c.GivenUp(ctx, owner, key)) {
		return c.belongs(owner, live), false
	}
	body := c.body(desired.Object, live)
	if c.Applied && live != nil && asApplied(live, body) {
		return Outcome{Action: corev1alpha1.ActionUnchanged, Live: live, Result: live}, false
	}
	force := c.Release.Spec.Sync.Conflicts != corev1alpha1.ConflictsFail
	result, err := c.dryRun(ctx, resource, key, body, force)
	switch {
	case !force && live != nil && apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return c.contested(ctx, resource, key, desired.Object, live, body, err)
	case err == nil && live == nil:
		return Outcome{Action: corev1alpha1.ActionCreate, Result: result}, false
	case err == nil:
		moved = changed(live, result)
		if c.Adopts && !moved {
			if result, err = c.adopted(ctx, resource, key, live, result); err != nil {
				return failed(err), false
			}
		}
		outcome = c.difference(desired.Object, live, result)
		if foreign {
			outcome.Message = c.movesFrom(owner)
		}
		return outcome, moved
	case live == nil && namespaceMissing(err):
		return c.withoutNamespace(desired.Object), false
	case live != nil && apierrors.IsInvalid(err) && !Denied(err):
		return c.refused(ctx, resource, key, desired.Object, live, body, err)
	}
	outcome = failed(err)
	outcome.Live = live
	return outcome, false
}

// changed tells whether a dry run was made on another version of the object than was read.
func changed(live, result *unstructured.Unstructured) bool {
	version := result.GetResourceVersion()
	return version != "" && version != live.GetResourceVersion()
}

// contested is the outcome for an object with fields of other managers that a sync does not
// take over: how it differs, and why that stays so.
func (c *Comparer) contested(ctx context.Context, resource dynamic.ResourceInterface, key corev1alpha1.ObjectKey,
	desired, live, body *unstructured.Unstructured, conflict error,
) (outcome Outcome, moved bool) {
	result, err := c.dryRun(ctx, resource, key, body, true)
	switch {
	case apierrors.IsInvalid(err) && !Denied(err):
		return c.refused(ctx, resource, key, desired, live, body, err)
	case err != nil:
		outcome = failed(err)
		outcome.Live = live
		return outcome, false
	}
	outcome = c.difference(desired, live, result)
	if outcome.Action != corev1alpha1.ActionUnchanged {
		outcome.Message = "a sync fails while spec.sync.conflicts is fail: " + conflict.Error()
		outcome.Reason = corev1alpha1.ReasonApplyConflict
	}
	return outcome, false
}

// Live reads an object that is named by an inventory or a hook; nil when it is gone. served
// is false when its kind is: the cluster does not serve it.
func (c *Comparer) Live(ctx context.Context, object corev1alpha1.ObjectUID) (live *unstructured.Unstructured, served bool, err error) {
	resource, err := c.resource(ctx, object.ObjectKey, object.UID != "")
	if meta.IsNoMatchError(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, err
	}
	live, err = c.read(ctx, resource, object.ObjectKey)
	return live, true, err
}

// reading gives the client that reads what the one of a resource is for.
func (c *Comparer) reading(ctx context.Context, resource dynamic.ResourceInterface, key corev1alpha1.ObjectKey) (dynamic.ResourceInterface, error) {
	if c.Reads == nil {
		return resource, nil
	}
	mapping, err := c.Target.Mapping(ctx, key.GroupVersionKind())
	if err != nil {
		return nil, clusterconn.Classify(err)
	}
	return clientOf(c.Reads, mapping, key), nil
}

func clientOf(of dynamic.Interface, mapping *meta.RESTMapping, key corev1alpha1.ObjectKey) dynamic.ResourceInterface {
	client := of.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return client.Namespace(key.Namespace)
	}
	return client
}

// resource gives the client for an object. A kind that must be there, because it was when
// the object was applied, and that is not known yet is asked for anew, once in a pass.
func (c *Comparer) resource(ctx context.Context, key corev1alpha1.ObjectKey, expected bool) (dynamic.ResourceInterface, error) {
	gvk := key.GroupVersionKind()
	mapping, err := c.Target.Mapping(ctx, gvk)
	if meta.IsNoMatchError(err) && expected {
		c.rediscover.Do(c.Target.Invalidate)
		mapping, err = c.Target.Mapping(ctx, gvk)
	}
	if err != nil {
		return nil, clusterconn.Classify(err)
	}
	return clientOf(c.Target.Dynamic(), mapping, key), nil
}

// ask makes one request about an object, unless the target is away.
func (c *Comparer) ask(ctx context.Context, limit time.Duration, key corev1alpha1.ObjectKey,
	request func(ctx context.Context) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	if away := c.away.Load(); away != nil {
		return nil, *away
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	object, err := request(ctx)
	if err == nil {
		return object, nil
	}
	if _, answered := Answer(err); answered {
		return nil, explain(err, key)
	}
	if !errors.Is(clusterconn.Classify(err), clusterconn.ErrUnreachable) {
		return nil, clusterconn.Classify(err)
	}
	err = unreachable(err)
	c.away.Store(&err)
	return nil, err
}

func (c *Comparer) read(ctx context.Context, resource dynamic.ResourceInterface, key corev1alpha1.ObjectKey) (*unstructured.Unstructured, error) {
	resource, err := c.reading(ctx, resource, key)
	if err != nil {
		return nil, err
	}
	live, err := c.ask(ctx, readTimeout, key, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return resource.Get(ctx, key.Name, metav1.GetOptions{})
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// foreign tells whether another Release owns the live object. What has not the form of a mark
// is nobody's.
func (c *Comparer) foreign(live *unstructured.Unstructured) (string, bool) {
	if live == nil {
		return "", false
	}
	owner := live.GetAnnotations()[corev1alpha1.AnnotationRelease]
	_, _, _, marks := corev1alpha1.ParseReleaseAnnotation(owner)
	own := corev1alpha1.ReleaseAnnotationValue(c.Installation, c.Release.Namespace, c.Release.Name)
	return owner, marks && owner != own
}

// belongs is the outcome for an object that another Release owns.
func (c *Comparer) belongs(owner string, live *unstructured.Unstructured) Outcome {
	outcome := failed(fmt.Errorf("belongs to %s", render.OwnerName(owner, c.Installation)))
	outcome.Live, outcome.Reason = live, corev1alpha1.ReasonOwnershipConflict
	return outcome
}

func (c *Comparer) movesFrom(owner string) string {
	return "moves here from " + render.OwnerName(owner, c.Installation)
}

// body is what is sent for an object: with the marks of its Release, and in the fields
// that are ignored with what the live object has there.
func (c *Comparer) body(desired, live *unstructured.Unstructured) *unstructured.Unstructured {
	body := desired.DeepCopy()
	if live != nil {
		for _, path := range ignoredPaths(c.Release, desired) {
			keepLive(body.Object, live.Object, path)
		}
	}
	render.Mark(body, c.Installation, c.Release.Namespace, c.Release.Name)
	return body
}

func (c *Comparer) dryRun(ctx context.Context, resource dynamic.ResourceInterface, key corev1alpha1.ObjectKey, body *unstructured.Unstructured, force bool) (*unstructured.Unstructured, error) {
	data, err := body.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, dryRunTimeout, key, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return resource.Patch(ctx, key.Name, types.ApplyPatchType, data, metav1.PatchOptions{
			FieldManager: corev1alpha1.FieldManager, Force: &force, DryRun: []string{metav1.DryRunAll},
		})
	})
}

// difference is the outcome of a dry run on a live object.
func (c *Comparer) difference(desired, live, result *unstructured.Unstructured) Outcome {
	changes := c.changes(desired, live, result)
	if c.Applied {
		changes = withoutOthers(live, result, changes)
	}
	return differs(live, result, changes)
}

// changes are those of a live object that a dry run makes, but of fields that are ignored.
func (c *Comparer) changes(desired, live, result *unstructured.Unstructured) []corev1alpha1.FieldChange {
	paths := ignoredPaths(c.Release, desired)
	return slices.DeleteFunc(append(marks(live, result), Fields(live.Object, result.Object)...), func(change corev1alpha1.FieldChange) bool { return Ignored(change, paths) })
}

func differs(live, result *unstructured.Unstructured, changes []corev1alpha1.FieldChange) Outcome {
	if len(changes) == 0 {
		return Outcome{Action: corev1alpha1.ActionUnchanged, Live: live, Result: result}
	}
	nameManagers(live, changes)
	return Outcome{Action: corev1alpha1.ActionUpdate, Changes: changes, Live: live, Result: result}
}

func (c *Comparer) withoutNamespace(desired *unstructured.Unstructured) Outcome {
	if c.Creates != nil && !c.Creates(desired.GetNamespace()) {
		return failed(fmt.Errorf("namespace %q does not exist in the target cluster: create it, render it, or set spec.createNamespace if it is the target namespace", desired.GetNamespace()))
	}
	return Outcome{Action: corev1alpha1.ActionCreate, Simulated: true, Message: "its namespace does not exist yet", Result: desired}
}

func failed(err error) Outcome {
	return Outcome{Action: corev1alpha1.ActionError, Message: err.Error(), Reason: reasonOf(err), Err: err}
}
