// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	extv1alpha1 "kumodo.io/convoy/api/extensions/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
)

// assessing judges an object that is there.
type assessing func(*unstructured.Unstructured, Surroundings) Result

// alone is for kinds of which the object tells all.
func alone(assess func(*unstructured.Unstructured) Result) assessing {
	return func(obj *unstructured.Unstructured, _ Surroundings) Result { return assess(obj) }
}

// builtin gives what is known of a kind, nil when nothing is. Versions of one kind are
// told apart by their fields, where it matters.
func builtin(gk schema.GroupKind) assessing {
	if exists(gk) {
		return alone(existing)
	}
	switch gk {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return persistentVolumeClaim
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return statefulSet
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		return daemonSet
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return job
	}
	if assess := judged(gk); assess != nil {
		return alone(assess)
	}
	return nil
}

// judged gives what looks into the objects of a kind.
func judged(gk schema.GroupKind) func(*unstructured.Unstructured) Result {
	switch gk.Group {
	case "":
		return judgedCore(gk.Kind)
	case "apps":
		return judgedApps(gk.Kind)
	case "batch":
		return judgedBatch(gk.Kind)
	case corev1alpha1.GroupName, sourcev1alpha1.GroupName, extv1alpha1.GroupName:
		return judgedConvoy(gk.Kind)
	}
	switch gk.String() {
	case "Ingress.networking.k8s.io":
		return ingress
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return customResourceDefinition
	case "APIService.apiregistration.k8s.io":
		return apiService
	case "HorizontalPodAutoscaler.autoscaling":
		return horizontalPodAutoscaler
	case "PodDisruptionBudget.policy":
		return podDisruptionBudget
	case "ValidatingAdmissionPolicy.admissionregistration.k8s.io":
		return validatingAdmissionPolicy
	case "FlowSchema.flowcontrol.apiserver.k8s.io":
		return flowSchema
	case "CertificateSigningRequest.certificates.k8s.io", "PodCertificateRequest.certificates.k8s.io":
		return certificateRequest
	case "ResourceClaim.resource.k8s.io":
		return resourceClaim
	case "VolumeAttachment.storage.k8s.io":
		return volumeAttachment
	case "StorageVersionMigration.storagemigration.k8s.io":
		return storageVersionMigration
	}
	return nil
}

func judgedCore(kind string) func(*unstructured.Unstructured) Result {
	switch kind {
	case "Pod":
		return pod
	case "ReplicationController":
		return replicaSet
	case "Service":
		return service
	case "PersistentVolume":
		return persistentVolume
	case "Namespace":
		return namespace
	case "Node":
		return node
	case "ResourceQuota":
		return resourceQuota
	}
	return nil
}

func judgedApps(kind string) func(*unstructured.Unstructured) Result {
	switch kind {
	case "Deployment":
		return deployment
	case "ReplicaSet":
		return replicaSet
	}
	return nil
}

func judgedBatch(kind string) func(*unstructured.Unstructured) Result {
	if kind == "CronJob" {
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
		case "ConfigMap", "Secret", "ServiceAccount", "Endpoints", "LimitRange", "PodTemplate", "Event":
			return true
		}
	case "apps":
		return gk.Kind == "ControllerRevision"
	case "rbac.authorization.k8s.io", "scheduling.k8s.io", "node.k8s.io", "discovery.k8s.io", "coordination.k8s.io",
		"events.k8s.io":
		return true
	case "admissionregistration.k8s.io":
		return gk.Kind != "ValidatingAdmissionPolicy"
	case "certificates.k8s.io":
		return gk.Kind == "ClusterTrustBundle"
	case "flowcontrol.apiserver.k8s.io":
		return gk.Kind == "PriorityLevelConfiguration"
	case "resource.k8s.io":
		return gk.Kind != "ResourceClaim"
	case "storage.k8s.io":
		return gk.Kind != "VolumeAttachment"
	case "networking.k8s.io":
		return gk.Kind == "NetworkPolicy" || gk.Kind == "IngressClass" || gk.Kind == "IPAddress"
	}
	return false
}

func existing(*unstructured.Unstructured) Result { return healthy("") }
