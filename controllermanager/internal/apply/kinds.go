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
	claimKind       = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	volumeKind      = schema.GroupKind{Kind: "PersistentVolume"}
)

// runsPods are the built-in kinds whose objects make Pods, at once or by others.
var runsPods = map[schema.GroupKind]bool{
	{Kind: "ReplicationController"}:      true,
	{Group: "apps", Kind: "Deployment"}:  true,
	{Group: "apps", Kind: "StatefulSet"}: true,
	{Group: "apps", Kind: "DaemonSet"}:   true,
	{Group: "apps", Kind: "ReplicaSet"}:  true,
	{Group: "batch", Kind: "Job"}:        true,
	{Group: "batch", Kind: "CronJob"}:    true,
}

func groupKind(obj *unstructured.Unstructured) schema.GroupKind {
	return obj.GroupVersionKind().GroupKind()
}
