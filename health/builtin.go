// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtin gives what is known of a kind, nil when nothing is. Versions of one kind are
// told apart by their fields, where it matters.
func builtin(gk schema.GroupKind) func(*unstructured.Unstructured) Result {
	if exists(gk) {
		return existing
	}
	switch gk.Group {
	case "":
		return builtinCore(gk.Kind)
	case "apps":
		return builtinApps(gk.Kind)
	case "batch":
		return builtinBatch(gk.Kind)
	case "networking.k8s.io":
		if gk.Kind == "Ingress" {
			return ingress
		}
	case "apiextensions.k8s.io":
		if gk.Kind == "CustomResourceDefinition" {
			return customResourceDefinition
		}
	case "apiregistration.k8s.io":
		if gk.Kind == "APIService" {
			return apiService
		}
	case "autoscaling":
		if gk.Kind == "HorizontalPodAutoscaler" {
			return horizontalPodAutoscaler
		}
	case "policy":
		if gk.Kind == "PodDisruptionBudget" {
			return podDisruptionBudget
		}
	}
	return nil
}

func builtinCore(kind string) func(*unstructured.Unstructured) Result {
	switch kind {
	case "Pod":
		return pod
	case "ReplicationController":
		return replicaSet
	case "Service":
		return service
	case "PersistentVolumeClaim":
		return persistentVolumeClaim
	case "PersistentVolume":
		return persistentVolume
	case "Namespace":
		return namespace
	}
	return nil
}

func builtinApps(kind string) func(*unstructured.Unstructured) Result {
	switch kind {
	case "Deployment":
		return deployment
	case "StatefulSet":
		return statefulSet
	case "DaemonSet":
		return daemonSet
	case "ReplicaSet":
		return replicaSet
	}
	return nil
}

func builtinBatch(kind string) func(*unstructured.Unstructured) Result {
	switch kind {
	case "Job":
		return job
	case "CronJob":
		return cronJob
	}
	return nil
}

// exists tells the kinds that are healthy by existing: configuration that other components
// read.
func exists(gk schema.GroupKind) bool {
	switch gk.Group {
	case "":
		switch gk.Kind {
		case "ConfigMap", "Secret", "ServiceAccount", "Endpoints", "LimitRange", "ResourceQuota", "PodTemplate", "Event":
			return true
		}
	case "apps":
		return gk.Kind == "ControllerRevision"
	case "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "scheduling.k8s.io",
		"node.k8s.io", "discovery.k8s.io", "coordination.k8s.io":
		return true
	case "storage.k8s.io":
		return gk.Kind == "StorageClass" || gk.Kind == "CSIDriver"
	case "networking.k8s.io":
		return gk.Kind == "NetworkPolicy" || gk.Kind == "IngressClass"
	}
	return false
}

func existing(*unstructured.Unstructured) Result { return healthy("") }
