// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/observer/internal/observer"
)

const (
	// maxOwned is how many objects are shown under those of a Release, and maxOwnedText how many
	// bytes of names and messages.
	maxOwned, maxOwnedText = 2000, 8 << 20
	// ownedPage is how many objects of a kind are asked for at a time. They are looked at one by
	// one as they come, and none of them is kept.
	ownedPage = 500
	// ownedDepth is how far down is looked.
	ownedDepth = 4
)

var (
	podKind         = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	replicaSetKind  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	statefulSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	deploymentKind  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	jobKind         = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	claimKind       = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}
)

// owns are the kinds that objects of the kinds of Kubernetes own. Custom resources may own any
// of those that run something.
var owns = map[schema.GroupKind][]schema.GroupVersionKind{
	deploymentKind.GroupKind():         {replicaSetKind},
	replicaSetKind.GroupKind():         {podKind},
	{Group: "apps", Kind: "DaemonSet"}: {podKind},
	statefulSetKind.GroupKind():        {podKind, claimKind},
	{Kind: "ReplicationController"}:    {podKind},
	jobKind.GroupKind():                {podKind},
	{Group: "batch", Kind: "CronJob"}:  {jobKind},
	podKind.GroupKind():                nil,
}

var runners = []schema.GroupVersionKind{deploymentKind, statefulSetKind, jobKind, replicaSetKind, podKind}

// ownedBy are the kinds of what an object may own.
func ownedBy(kind schema.GroupKind) []schema.GroupVersionKind {
	if known, ok := owns[kind]; ok {
		return known
	}
	if !strings.Contains(kind.Group, ".") || strings.HasSuffix(kind.Group, ".k8s.io") {
		return nil
	}
	return runners
}

// tree finds what objects own, level by level, each kind of a namespace with one list.
type tree struct {
	assessor *health.Assessor
	client   rest.Interface
	mapping  func(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error)
	// found is how many objects are shown, with that many bytes of names and messages.
	found, text int
}

func (t *tree) full() bool { return t.found >= maxOwned || t.text >= maxOwnedText }

// branch is an object whose own objects are looked for.
type branch struct {
	uid  types.UID
	node *corev1alpha1.ObjectHealthDetail
}

// grow adds to the objects of a report those that they own, with their health.
func (s *Server) grow(ctx context.Context, release *corev1alpha1.Release, report *corev1alpha1.ReleaseHealth) error {
	target, err := s.Host.Connect(ctx, release)
	if err != nil {
		return err
	}
	client, err := lists(ctx, target)
	if err != nil {
		return err
	}
	t := &tree{assessor: health.NewAssessor(), client: client, mapping: target.Mapping}
	if s.Rules != nil {
		t.assessor, _ = s.Rules.For(release)
	}
	inventory, err := s.Host.Inventory(ctx, types.NamespacedName{Namespace: release.Namespace, Name: release.Name})
	if err != nil {
		return nil // nothing is applied, and nothing owned
	}
	return target.Blame(t.grow(ctx, roots(inventory, report)))
}

// roots are the objects of a report that exist.
func roots(inventory observer.Pages, report *corev1alpha1.ReleaseHealth) []branch {
	uids := map[corev1alpha1.ObjectKey]types.UID{}
	for _, entry := range inventory.Entries() {
		uids[unversioned(entry.ObjectKey)] = entry.UID
	}
	var level []branch
	for i := range report.Objects {
		if uid := uids[unversioned(report.Objects[i].ObjectKey)]; uid != "" {
			level = append(level, branch{uid, &report.Objects[i]})
		}
	}
	return level
}

func (t *tree) grow(ctx context.Context, level []branch) error {
	for depth := 0; depth < ownedDepth && len(level) > 0; depth++ {
		children := map[types.UID][]owned{}
		for _, of := range places(level) {
			if err := t.list(ctx, of, level, children); err != nil {
				return err
			}
		}
		var next []branch
		for _, parent := range level {
			for _, child := range inOrder(children[parent.uid]) {
				parent.node.Children = append(parent.node.Children, child.detail)
			}
			for i, child := range inOrder(children[parent.uid]) {
				if child.uid != "" { // it is an object, not the word that some could not be listed
					next = append(next, branch{child.uid, &parent.node.Children[i]})
				}
			}
		}
		level = next
	}
	return nil
}

// owned is an object that another one owns.
type owned struct {
	uid    types.UID
	detail corev1alpha1.ObjectHealthDetail
}

func inOrder(found []owned) []owned {
	slices.SortFunc(found, func(a, b owned) int {
		return cmp.Or(strings.Compare(a.detail.Kind, b.detail.Kind), strings.Compare(a.detail.Name, b.detail.Name))
	})
	return found
}

// place is a kind in a namespace.
type place struct {
	kind      schema.GroupVersionKind
	namespace string
}

// places are where objects of a level have what they own; of a cluster-scoped one nothing is
// looked for.
func places(level []branch) []place {
	found := map[place]bool{}
	for _, parent := range level {
		key := parent.node.ObjectKey
		for _, kind := range ownedBy(schema.GroupKind{Group: key.Group, Kind: key.Kind}) {
			if key.Namespace != "" {
				found[place{kind, key.Namespace}] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b place) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.kind.String(), b.kind.String()))
	})
}

// list finds the objects of a place that objects of a level own. What may not be listed is
// told in the place of what would be found.
func (t *tree) list(ctx context.Context, of place, level []branch, children map[types.UID][]owned) error {
	mapping, err := t.mapping(ctx, of.kind)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	parents := map[types.UID]bool{}
	for _, parent := range level {
		parents[parent.uid] = true
	}
	for next := ""; !t.full(); {
		next, err = page(ctx, t.client, mapping.Resource, of.namespace, next, func(raw []byte) error {
			return t.take(raw, of.kind, parents, children)
		})
		if err != nil {
			return t.unlisted(err, of, level, children)
		}
		if next == "" {
			return nil
		}
	}
	return nil
}

// take judges an object that one of the parents owns. Of others nothing but their owners is
// looked at.
func (t *tree) take(raw []byte, kind schema.GroupVersionKind, parents map[types.UID]bool, children map[types.UID][]owned) error {
	var of struct {
		Metadata struct {
			OwnerReferences []struct {
				UID types.UID `json:"uid"`
			} `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &of); err != nil {
		return err
	}
	for _, owner := range of.Metadata.OwnerReferences {
		if !parents[owner.UID] || t.full() {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(raw, &object.Object); err != nil {
			return err
		}
		object.SetGroupVersionKind(kind) // items of a list need not say it
		result := t.assessor.Assess(object)
		detail := corev1alpha1.ObjectHealthDetail{
			ObjectHealth: corev1alpha1.ObjectHealth{ObjectKey: keyOf(object), Status: result.Status, Message: result.Message}, Rule: result.Rule,
		}
		t.found++
		t.text += len(detail.Name) + len(detail.Message)
		children[owner.UID] = append(children[owner.UID], owned{object.GetUID(), detail})
	}
	return nil
}

func keyOf(object *unstructured.Unstructured) corev1alpha1.ObjectKey {
	gvk := object.GroupVersionKind()
	return corev1alpha1.ObjectKey{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
}

// unlisted says under each object that something under it could not be listed; of a target
// that does not answer, it is the error.
func (t *tree) unlisted(err error, of place, level []branch, children map[types.UID][]owned) error {
	err = clusterconn.Classify(err)
	if _, answered := compare.Answer(err); !answered {
		return err
	}
	for _, parent := range level {
		key := parent.node.ObjectKey
		if key.Namespace != of.namespace || !slices.Contains(ownedBy(schema.GroupKind{Group: key.Group, Kind: key.Kind}), of.kind) {
			continue
		}
		if t.full() {
			return nil
		}
		t.found++
		t.text += len(err.Error())
		children[parent.uid] = append(children[parent.uid], owned{"", corev1alpha1.ObjectHealthDetail{
			ObjectHealth: corev1alpha1.ObjectHealth{
				ObjectKey: corev1alpha1.ObjectKey{Group: of.kind.Group, Version: of.kind.Version, Kind: of.kind.Kind, Namespace: of.namespace, Name: "*"},
				Status:    corev1alpha1.HealthUnknown, Message: fmt.Sprintf("cannot be listed: %v", err),
			},
			Rule: "read",
		}})
	}
	return nil
}
