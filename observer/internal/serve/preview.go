// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/observer/internal/observer"
	"kumodo.io/convoy/render"
)

// preview tells what a sync would do now.
func (s *Server) preview(ctx context.Context, release *corev1alpha1.Release, q query) (reply, error) {
	target, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	want, err := s.wanted(ctx, release, target, q["revision"])
	if err != nil {
		return nil, err
	}
	preview := &corev1alpha1.ReleasePreview{Revision: want.Revision, Render: want.Digest, Objects: []corev1alpha1.ObjectPreview{}}
	objects := planned(want)
	outcomes, err := s.compareAll(ctx, release, target, objects, want)
	if err != nil {
		return nil, err
	}
	for i, object := range objects {
		one, err := previewOf(object, outcomes[i])
		if err != nil {
			return nil, err
		}
		preview.Objects = append(preview.Objects, one)
	}
	deletions, err := s.deletions(ctx, release, target, want)
	if err != nil {
		return nil, err
	}
	preview.Objects = append(preview.Objects, deletions...)
	return preview, nil
}

func (s *Server) wanted(ctx context.Context, release *corev1alpha1.Release, target *observer.Target, revision string) (*desired.Desired, error) {
	if revision != "" {
		return s.Desired.At(ctx, release, target, revision)
	}
	return s.Desired.Current(ctx, release, target)
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

// compareAll compares every planned object with the target. The error is that of a target
// that does not answer, or does not accept the credentials, which no object is to blame for.
func (s *Server) compareAll(ctx context.Context, release *corev1alpha1.Release, target *observer.Target,
	objects []plannedObject, want *desired.Desired,
) ([]compare.Outcome, error) {
	comparer := &compare.Comparer{
		Target: target, Installation: s.Host.Installation, Release: release, Defines: defines(want), Creates: creates(release, want),
	}
	outcomes := make([]compare.Outcome, len(objects))
	compare.Parallel(len(objects), func(i int) {
		if objects[i].hook != "" {
			outcomes[i] = hookOutcome(release, want)
			return
		}
		outcomes[i] = comparer.Compare(ctx, objects[i].Object)
	})
	for _, outcome := range outcomes {
		if errors.Is(outcome.Err, clusterconn.ErrUnreachable) || errors.Is(outcome.Err, clusterconn.ErrUnauthenticated) {
			return nil, target.Blame(outcome.Err)
		}
	}
	return outcomes, nil
}

// hookOutcome tells whether hooks run: not with a sync that brings nothing new.
func hookOutcome(release *corev1alpha1.Release, want *desired.Desired) compare.Outcome {
	message := "runs with the sync"
	if applied := release.Status.Applied; applied != nil && applied.Render == want.Digest {
		message = "does not run: this render is applied; a forced sync would run it"
	}
	return compare.Outcome{Action: corev1alpha1.ActionUnchanged, Message: message}
}

// defines tells which kinds the render's own CustomResourceDefinitions define.
func defines(want *desired.Desired) func(schema.GroupKind) bool {
	kinds := map[schema.GroupKind]bool{}
	for _, object := range want.Objects {
		if object.Object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			continue
		}
		spec, _ := object.Object.Object["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		group, _ := spec["group"].(string)
		kind, _ := names["kind"].(string)
		kinds[schema.GroupKind{Group: group, Kind: kind}] = true
	}
	return func(gk schema.GroupKind) bool { return kinds[gk] }
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
		Changes: outcome.Changes, Message: outcome.Message,
	}, nil
}

// deletions are the objects of the inventory that left the render, last stage first.
func (s *Server) deletions(ctx context.Context, release *corev1alpha1.Release, target *observer.Target, want *desired.Desired) ([]corev1alpha1.ObjectPreview, error) {
	inventory, err := s.Host.Inventory(types.NamespacedName{Namespace: release.Namespace, Name: release.Name})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	wanted := map[corev1alpha1.ObjectKey]bool{}
	for _, object := range want.Objects {
		wanted[unversioned(object.Key())] = true
	}
	for _, hook := range slices.Concat(want.Hooks, want.OtherHooks) {
		wanted[unversioned(hook.Object.Key())] = true
	}
	comparer := &compare.Comparer{Target: target, Installation: s.Host.Installation, Release: release}
	var result []corev1alpha1.ObjectPreview
	for _, entry := range slices.Backward(inventory.Entries()) {
		if wanted[unversioned(entry.ObjectKey)] || entry.Hook != "" {
			continue
		}
		one := deletion(release, want, entry)
		if one.Action == corev1alpha1.ActionDelete && definition(entry) && !release.Spec.Sync.PruneCRDs {
			if one, err = withConsent(ctx, comparer, one, entry); err != nil {
				return nil, target.Blame(err)
			}
		}
		result = append(result, one)
	}
	slices.SortStableFunc(result, func(a, b corev1alpha1.ObjectPreview) int { return cmp.Compare(b.Stage, a.Stage) })
	return result, nil
}

// deletion tells what becomes of an object that left the render.
func deletion(release *corev1alpha1.Release, want *desired.Desired, entry corev1alpha1.InventoryEntry) corev1alpha1.ObjectPreview {
	one := corev1alpha1.ObjectPreview{ObjectKey: entry.ObjectKey, Action: corev1alpha1.ActionUnchanged, Stage: entry.Stage}
	switch {
	case release.Spec.Sync.Prune != nil && !*release.Spec.Sync.Prune:
		one.Message = "left the render; kept, because spec.sync.prune is false"
	case entry.Keep:
		one.Message = "left the render; kept, because an annotation says so"
	case len(want.Objects) == 0 && !release.Spec.Sync.AllowEmpty:
		one.Message = "kept: the render is empty and spec.sync.allowEmpty is false"
	default:
		one.Action, one.Message = corev1alpha1.ActionDelete, "left the render"
	}
	return one
}

func definition(entry corev1alpha1.InventoryEntry) bool {
	return entry.Group == "apiextensions.k8s.io" && entry.Kind == "CustomResourceDefinition"
}

// withConsent keeps a definition that left the render, unless the live one says that it may go.
func withConsent(ctx context.Context, comparer *compare.Comparer, one corev1alpha1.ObjectPreview, entry corev1alpha1.InventoryEntry) (corev1alpha1.ObjectPreview, error) {
	live, _, err := comparer.Live(ctx, corev1alpha1.ObjectUID{ObjectKey: entry.ObjectKey, UID: entry.UID})
	if err != nil {
		return one, err
	}
	if live != nil && live.GetAnnotations()[corev1alpha1.AnnotationPrune] != corev1alpha1.PruneEnabled {
		one.Action = corev1alpha1.ActionUnchanged
		one.Message = "left the render; kept, because deleting a CustomResourceDefinition deletes all its objects; spec.sync.pruneCRDs or its annotation " +
			corev1alpha1.AnnotationPrune + ": " + corev1alpha1.PruneEnabled + " allows it"
	}
	return one, nil
}

// unversioned is what makes an object the same one: its version is no part of it.
func unversioned(key corev1alpha1.ObjectKey) corev1alpha1.ObjectKey {
	key.Version = ""
	return key
}
