// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/observer/internal/definition"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/observer"
	"kumodo.io/convoy/render"
)

// preview tells what a sync would do now, or a forced one.
func (s *Server) preview(ctx context.Context, release *corev1alpha1.Release, q query) (reply, error) {
	force := q.flag("force")
	if force {
		release.Spec.Sync.Replace = corev1alpha1.ReplaceOnImmutable
	}
	target, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	want, err := s.wanted(ctx, release, target, q["revision"])
	if err != nil {
		return nil, err
	}
	preview := &corev1alpha1.ReleasePreview{Revision: want.Revision, Render: want.Digest}
	objects := planned(want)
	preview.Objects = make([]corev1alpha1.ObjectPreview, len(objects))
	look, err := s.look(ctx, release, target, want)
	if err != nil {
		return nil, err
	}
	look.force = force
	if err := look.each(ctx, objects, func(i int, outcome compare.Outcome) (int, error) {
		var err error
		preview.Objects[i], err = previewOf(objects[i], outcome)
		return weightOf(preview.Objects[i].Object, outcome.Changes), err
	}); err != nil {
		return nil, err
	}
	deletions, err := s.deletions(ctx, release, target, want)
	if err != nil {
		return nil, err
	}
	preview.Objects = append(preview.Objects, deletions...)
	preview.Plan, err = planOf(preview)
	return preview, err
}

func (s *Server) wanted(ctx context.Context, release *corev1alpha1.Release, target *observer.Target, revision string) (*desired.Desired, error) {
	if revision != "" {
		return s.Desired.At(ctx, release, target, revision)
	}
	return s.Desired.Current(ctx, release, target)
}

// planOf is the digest of what a sync would do: equal when the same objects would be changed
// in the same fields. It tells nothing of a Secret's values.
func planOf(preview *corev1alpha1.ReleasePreview) (string, error) {
	type step struct {
		corev1alpha1.ObjectKey
		Action  corev1alpha1.ObjectAction
		Stage   int32
		Hook    string
		Changes []corev1alpha1.FieldChange
	}
	steps := make([]step, len(preview.Objects))
	for i, object := range preview.Objects {
		steps[i] = step{object.ObjectKey, object.Action, object.Stage, object.Hook, object.Changes}
	}
	data, err := json.Marshal(map[string]any{"render": preview.Render, "steps": steps})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data)), nil
}

// plannedObject is an object of a render, with the hook that it belongs to, if any.
type plannedObject struct {
	render.Object
	hook string
}

// planned lists what a sync applies, hooks at their place.
func planned(want *desired.Desired) []plannedObject {
	var result []plannedObject
	add := func(point corev1alpha1.HookPoint) {
		for _, hook := range want.Hooks {
			if hook.On == point {
				result = append(result, plannedObject{Object: hook.Object, hook: hook.Name})
			}
		}
	}
	add(corev1alpha1.HookPreSync)
	for _, object := range want.Objects {
		result = append(result, plannedObject{Object: object})
	}
	add(corev1alpha1.HookPostSync)
	return result
}

// look is how the objects of a render relate to the target.
type look struct {
	release  *corev1alpha1.Release
	target   *observer.Target
	want     *desired.Desired
	comparer *compare.Comparer
	// definitions are those that the sync makes.
	definitions *definition.Set
	// force: hooks run afresh.
	force bool
}

func (s *Server) look(ctx context.Context, release *corev1alpha1.Release, target *observer.Target, want *desired.Desired) (*look, error) {
	comparer, err := s.comparer(ctx, release, target)
	if err != nil {
		return nil, err
	}
	known := definitions(want)
	comparer.Defines, comparer.Creates, comparer.Adopts = known.Defines, creates(release, want), true
	comparer.GivenUp = s.givenUp(release)
	return &look{release: release, target: target, want: want, comparer: comparer, definitions: known}, nil
}

// each compares every planned object with the target and hands the outcome on, of which
// nothing is kept; take tells how many bytes of the answer came of it. The error is that of a
// target that does not answer, or does not accept the credentials, which no object is to blame
// for, or of an answer that gets too long.
func (l *look) each(ctx context.Context, objects []plannedObject, take func(i int, outcome compare.Outcome) (int, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var size atomic.Int64
	compare.Parallel(len(objects), func(i int) {
		if ctx.Err() != nil {
			return
		}
		outcome := compare.Outcome{}
		if objects[i].hook != "" {
			outcome = l.hook()
		} else {
			outcome = l.foreseen(objects[i].Object.Object, l.comparer.Compare(ctx, objects[i].Object))
		}
		if errors.Is(outcome.Err, clusterconn.ErrUnreachable) || errors.Is(outcome.Err, clusterconn.ErrUnauthenticated) {
			cancel(l.target.Blame(outcome.Err))
			return
		}
		n, err := take(i, outcome)
		if err == nil && size.Add(int64(n)) > maxAnswer {
			err = tooLong()
		}
		if err != nil {
			cancel(err)
		}
	})
	return context.Cause(ctx)
}

// hook tells whether hooks run: not with a sync that brings nothing new.
func (l *look) hook() compare.Outcome {
	message := "runs with the sync"
	if applied := l.release.Status.Applied; applied != nil && applied.Render == l.want.Digest && !l.force {
		message = "does not run: this render is applied; a forced sync would run it"
	}
	return compare.Outcome{Action: corev1alpha1.ActionUnchanged, Message: message}
}

// weightOf is about how many bytes an object and its changes take in an answer.
func weightOf(object *runtime.RawExtension, changes []corev1alpha1.FieldChange) int {
	n := 0
	if object != nil {
		n = len(object.Raw)
	}
	for _, change := range changes {
		n += len(change.Path) + len(change.From) + len(change.To)
	}
	return n
}

// definitions are those of a render: its custom resources may be of kinds that the target does
// not have yet.
func definitions(want *desired.Desired) *definition.Set {
	objects := make([]*unstructured.Unstructured, len(want.Objects))
	for i, object := range want.Objects {
		objects[i] = object.Object
	}
	return definition.New(objects...)
}

// foreseen is an outcome that could not be asked of the target, with what the definition in
// the same render has against the object.
func (l *look) foreseen(object *unstructured.Unstructured, outcome compare.Outcome) compare.Outcome {
	if !outcome.Simulated {
		return outcome
	}
	rules, err := l.definitions.Check(object)
	switch {
	case errors.Is(err, definition.ErrTooMuch) || errors.Is(err, definition.ErrTooDeep):
		outcome.Message += "; not held against its schema: " + err.Error()
	case err != nil:
		return compare.Outcome{Action: corev1alpha1.ActionError, Reason: corev1alpha1.ReasonInvalidObjects, Message: err.Error(), Err: err}
	case rules:
		outcome.Message += "; the rules (x-kubernetes-validations) of its schema are evaluated by the sync"
	}
	return outcome
}

// creates tells which namespaces a sync creates.
func creates(release *corev1alpha1.Release, want *desired.Desired) func(string) bool {
	namespaces := map[string]bool{}
	for _, object := range want.Objects {
		if object.Object.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			namespaces[object.Object.GetName()] = true
		}
	}
	if release.Spec.CreateNamespace {
		namespaces[cmp.Or(release.Spec.TargetNamespace, release.Namespace)] = true
	}
	return func(namespace string) bool { return namespaces[namespace] }
}

func previewOf(object plannedObject, outcome compare.Outcome) (corev1alpha1.ObjectPreview, error) {
	raw, err := json.Marshal(compare.MaskObject(object.Object.Object.Object))
	if err != nil {
		return corev1alpha1.ObjectPreview{}, err
	}
	return corev1alpha1.ObjectPreview{
		ObjectKey: object.Key(), Action: outcome.Action, Stage: object.Stage, Hook: object.hook,
		Simulated: outcome.Simulated, Object: &runtime.RawExtension{Raw: raw},
		Changes: outcome.Changes, Message: outcome.Message, Reason: outcome.Reason,
	}, nil
}

// unversioned is what makes an object the same one: its version is no part of it.
func unversioned(key corev1alpha1.ObjectKey) corev1alpha1.ObjectKey {
	key.Version = ""
	return key
}
