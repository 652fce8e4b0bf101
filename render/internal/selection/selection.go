// SPDX-License-Identifier: Apache-2.0

// Package selection decides which objects an ObjectSelector means.
package selection

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Selector is an ObjectSelector that is ready for use.
type Selector struct {
	fields              corev1alpha1.ObjectSelector
	labels, annotations labels.Selector
}

// New parses a selector. The error names the field that cannot be parsed.
func New(s corev1alpha1.ObjectSelector) (*Selector, error) {
	byLabel, err := labels.Parse(s.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("labelSelector: %w", err)
	}
	byAnnotation, err := labels.Parse(s.AnnotationSelector)
	if err != nil {
		return nil, fmt.Errorf("annotationSelector: %w", err)
	}
	return &Selector{fields: s, labels: byLabel, annotations: byAnnotation}, nil
}

// Matches tells whether every field of the selector that is set fits the object.
func (s *Selector) Matches(object *unstructured.Unstructured) bool {
	gvk := object.GroupVersionKind()
	group := s.fields.Group
	if group == "core" {
		group = ""
	}
	return (s.fields.Group == "" || group == gvk.Group) &&
		fits(s.fields.Version, gvk.Version) &&
		fits(s.fields.Kind, gvk.Kind) &&
		fits(s.fields.Namespace, object.GetNamespace()) &&
		fits(s.fields.Name, object.GetName()) &&
		fitsAll(s.labels, object.GetLabels) &&
		fitsAll(s.annotations, object.GetAnnotations)
}

// fitsAll copies no labels that nothing is asked of.
func fitsAll(selector labels.Selector, of func() map[string]string) bool {
	return selector.Empty() || selector.Matches(labels.Set(of()))
}

func fits(wanted, is string) bool { return wanted == "" || wanted == is }
