// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/observer/internal/desired"
	"kumodo.io/convoy/render"
)

// preview tells what a sync would do now.
func (s *Server) preview(ctx context.Context, release *corev1alpha1.Release, q query) (reply, error) {
	connection, _, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	want, err := s.wanted(ctx, release, connection, q["revision"])
	if err != nil {
		return nil, err
	}
	preview := &corev1alpha1.ReleasePreview{Revision: want.Revision, Render: want.Digest, Objects: []corev1alpha1.ObjectPreview{}}
	objects := planned(want)
	outcomes := s.compareAll(ctx, release, connection, objects, want)
	for i, object := range objects {
		one, err := previewOf(object, outcomes[i])
		if err != nil {
			return nil, err
		}
		preview.Objects = append(preview.Objects, one)
	}
	deletions, err := s.deletions(release, want)
	if err != nil {
		return nil, err
	}
	preview.Objects = append(preview.Objects, deletions...)
	return preview, nil
}

func (s *Server) wanted(ctx context.Context, release *corev1alpha1.Release, connection *clusterconn.Connection, revision string) (*desired.Desired, error) {
	if revision != "" {
		return s.Desired.At(ctx, release, connection, revision)
	}
	return s.Desired.Current(ctx, release, connection)
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

func (s *Server) compareAll(ctx context.Context, release *corev1alpha1.Release, connection *clusterconn.Connection,
	objects []plannedObject, want *desired.Desired,
) []compare.Outcome {
	comparer := &compare.Comparer{Target: connection, Installation: s.Host.Installation, Release: release, Defines: defines(want)}
	outcomes := make([]compare.Outcome, len(objects))
	compare.Parallel(len(objects), func(i int) {
		if objects[i].hook != "" {
			outcomes[i] = compare.Outcome{Action: corev1alpha1.ActionUnchanged, Message: "runs with the sync"}
			return
		}
		outcomes[i] = comparer.Compare(ctx, objects[i].Object)
	})
	return outcomes
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

func previewOf(object plannedObject, outcome compare.Outcome) (corev1alpha1.ObjectPreview, error) {
	key := object.Key()
	raw, err := json.Marshal(compare.MaskObject(key, object.Object.Object.Object))
	if err != nil {
		return corev1alpha1.ObjectPreview{}, err
	}
	return corev1alpha1.ObjectPreview{
		ObjectKey: key, Action: outcome.Action, Stage: object.Stage, Hook: object.hook,
		Simulated: outcome.Simulated, Object: &runtime.RawExtension{Raw: raw},
		Changes: compare.MaskChanges(key, outcome.Changes), Message: outcome.Message,
	}, nil
}

// deletions are the objects of the inventory that left the render, last first.
func (s *Server) deletions(release *corev1alpha1.Release, want *desired.Desired) ([]corev1alpha1.ObjectPreview, error) {
	inventory, err := s.Host.Inventories.ReleaseInventories(release.Namespace).Get(release.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	wanted := map[corev1alpha1.ObjectKey]bool{}
	for _, object := range want.Objects {
		key := object.Key()
		key.Version = ""
		wanted[key] = true
	}
	prune := release.Spec.Sync.Prune == nil || *release.Spec.Sync.Prune
	var result []corev1alpha1.ObjectPreview
	for i := len(inventory.Spec.Entries) - 1; i >= 0; i-- {
		entry := inventory.Spec.Entries[i]
		key := entry.ObjectKey
		key.Version = ""
		if wanted[key] || entry.Hook != "" {
			continue
		}
		one := corev1alpha1.ObjectPreview{ObjectKey: entry.ObjectKey, Action: corev1alpha1.ActionDelete, Stage: entry.Stage, Message: "left the render"}
		switch {
		case !prune:
			one.Action, one.Message = corev1alpha1.ActionUnchanged, "left the render; kept, because spec.sync.prune is false"
		case entry.Keep:
			one.Action, one.Message = corev1alpha1.ActionUnchanged, "left the render; kept, because an annotation says so"
		case len(want.Objects) == 0 && !release.Spec.Sync.AllowEmpty:
			one.Action, one.Message = corev1alpha1.ActionUnchanged, "kept: the render is empty and spec.sync.allowEmpty is false"
		}
		result = append(result, one)
	}
	return result, nil
}
