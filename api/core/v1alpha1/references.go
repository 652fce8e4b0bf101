// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// LocalReference names an object in the namespace of the object that refers to it.
type LocalReference struct {
	// name of the object, in the same namespace.
	Name string `json:"name"`
}

// SecretKeyReference names one key of a Secret in the same namespace.
type SecretKeyReference struct {
	// name of the Secret, in the same namespace.
	Name string `json:"name"`
	// key in the Secret's data.
	// +optional
	Key string `json:"key,omitempty"`
}

// ServiceAccountReference names a service account of a target cluster.
type ServiceAccountReference struct {
	// namespace of the service account in the target cluster.
	Namespace string `json:"namespace"`
	// name of the service account.
	Name string `json:"name"`
}

// ObjectSelector selects rendered objects. An empty field matches everything; the
// fields that are set must all match.
type ObjectSelector struct {
	// group of the object's API; "" matches every group, "core" the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// version of the object's API.
	// +optional
	Version string `json:"version,omitempty"`
	// kind of the object.
	// +optional
	Kind string `json:"kind,omitempty"`
	// namespace of the object.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	// +optional
	Name string `json:"name,omitempty"`
	// labelSelector over the object's labels, in the syntax of kubectl --selector.
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
	// annotationSelector over the object's annotations, in the syntax of kubectl --selector.
	// +optional
	AnnotationSelector string `json:"annotationSelector,omitempty"`
}
