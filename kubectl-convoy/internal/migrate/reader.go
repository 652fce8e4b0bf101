// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reader reads objects of the host cluster, in whatever version it serves.
type Reader interface {
	// Get gives an object; nil when there is none, or no such kind.
	Get(kind schema.GroupKind, namespace, name string) (*unstructured.Unstructured, error)
	// List gives the objects of a kind in a namespace whose labels match, by name; none when
	// there is no such kind.
	List(kind schema.GroupKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error)
}

// The kinds of the core group that conversions read.
var (
	SecretKind    = schema.GroupKind{Kind: "Secret"}
	ConfigMapKind = schema.GroupKind{Kind: "ConfigMap"}
)

// Snapshot is a Reader of objects that are given.
type Snapshot []*unstructured.Unstructured

// Get is Reader's.
func (s Snapshot) Get(kind schema.GroupKind, namespace, name string) (*unstructured.Unstructured, error) {
	for _, object := range s {
		if object.GroupVersionKind().GroupKind() == kind && object.GetNamespace() == namespace && object.GetName() == name {
			return object, nil
		}
	}
	return nil, nil
}

// List is Reader's.
func (s Snapshot) List(kind schema.GroupKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, object := range s {
		if object.GroupVersionKind().GroupKind() == kind && object.GetNamespace() == namespace && selector.Matches(labels.Set(object.GetLabels())) {
			found = append(found, object)
		}
	}
	return found, nil
}
