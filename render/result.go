// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"

	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/selection"
)

// Result is a render. It is shared by all who asked for it, and must not be changed.
type Result struct {
	// Digest names what was rendered: objects, stages, hooks. It does not depend on whether
	// it was rendered for an installation or an upgrade, unless the objects do.
	Digest string
	// Inputs is the digest of all that went into the render.
	Inputs string
	// Objects in the order in which they are applied: by stage, then by kind, then by name.
	Objects []Object
	// Hooks by point, weight, kind and name.
	Hooks []Hook
	// OtherHooks are those of a chart that do not run in this kind of sync: hooks of
	// installations during an upgrade, and the reverse.
	OtherHooks []Hook
	// NonDeterministic are the objects that came out different when the same inputs were
	// rendered again, in the order of Objects and Hooks.
	NonDeterministic []corev1alpha1.ObjectKey
	// Ranges chose charts that the chart depends on, as "name range": no lock file says which
	// versions they are, so that the same revision can become another render.
	Ranges []string
}

// Object is an object to be applied.
type Object struct {
	// Object has its namespace set and carries no marks; it must not be changed.
	Object *unstructured.Unstructured
	// Stage in which it is applied, the lowest first.
	Stage int32
	// Digest of Object.
	Digest string
	// Origin is the file that it comes from, for people.
	Origin string
	// Keep is true when the source says that it must never be deleted.
	Keep bool
}

// Key gives the identity of the object.
func (o Object) Key() corev1alpha1.ObjectKey { return keyOf(o.Object) }

func keyOf(o *unstructured.Unstructured) corev1alpha1.ObjectKey {
	gvk := o.GroupVersionKind()
	return corev1alpha1.ObjectKey{
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
		Namespace: o.GetNamespace(), Name: o.GetName(),
	}
}

// Occasion says in which kind of sync a hook runs.
type Occasion string

const (
	// Always: in every sync.
	Always Occasion = ""
	// OnInstall: only in the first sync of a Release.
	OnInstall Occasion = "install"
	// OnUpgrade: only in a later sync.
	OnUpgrade Occasion = "upgrade"
	// OnRollback: only in what Helm calls a rollback. No sync is one.
	OnRollback Occasion = "rollback"
)

// Hook is an object that is applied at a point of a Release's life and followed to its end.
type Hook struct {
	// Name is unique among the hooks of a render: that of spec.lifecycle.hooks, or
	// <point>/<kind>/<name> for a hook of a chart.
	Name string
	// On is the point.
	On corev1alpha1.HookPoint
	// When says in which kind of sync.
	When Occasion
	// Weight orders the hooks of a point, the lowest first; those of one weight run together.
	Weight int
	// Object of the hook. Its stage means nothing.
	Object Object
	// Timeout after which it has failed.
	Timeout time.Duration
	// DeletePolicy says when the object is deleted; never empty.
	DeletePolicy []corev1alpha1.HookDeletePolicy
	// FailurePolicy says what its failure means; never empty.
	FailurePolicy corev1alpha1.HookFailurePolicy
}

// Mark puts the marks of the owning Release on an object, in place: the label
// corev1alpha1.LabelOwner and the annotation corev1alpha1.AnnotationRelease. Every object
// is marked before it is sent; marks are in no digest.
func Mark(obj *unstructured.Unstructured, installation, namespace, name string) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[corev1alpha1.LabelOwner] = corev1alpha1.OwnerLabelValue(installation, namespace, name)
	obj.SetLabels(labels)
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1alpha1.AnnotationRelease] = corev1alpha1.ReleaseAnnotationValue(installation, namespace, name)
	obj.SetAnnotations(annotations)
}

// OwnerName names the owner that the annotation corev1alpha1.AnnotationRelease gives, as
// people of an installation know it: "Release <namespace>/<name>", and whose it is when it
// is another installation's.
func OwnerName(annotation, installation string) string {
	from, namespace, name, ok := corev1alpha1.ParseReleaseAnnotation(annotation)
	switch {
	case !ok:
		return fmt.Sprintf("Release %q", annotation)
	case from == installation:
		return fmt.Sprintf("Release %s/%s", namespace, name)
	}
	return fmt.Sprintf("Release %s/%s of another convoy (installation %s)", namespace, name, from)
}

// Selects tells whether a selector means an object, as in mutations. A selector that cannot
// be parsed means none.
func Selects(s corev1alpha1.ObjectSelector, obj *unstructured.Unstructured) bool {
	selector, err := selection.New(s)
	return err == nil && selector.Matches(obj)
}
