// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	namespaceKind   = schema.GroupKind{Kind: "Namespace"}
	secretKind      = schema.GroupKind{Kind: "Secret"}
	serviceKind     = schema.GroupKind{Kind: "Service"}
	statefulSetKind = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	clusterRoleKind = schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}
	definitionKind  = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
)

func groupKind(obj *unstructured.Unstructured) schema.GroupKind {
	return obj.GroupVersionKind().GroupKind()
}
