// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Waves orders entries for removal: the reverse of the order in which they are applied.
// The objects of one wave may go in parallel; a wave may start when every object of the
// one before it is gone. Later stages go before earlier ones; inside a stage what others
// depend on goes last: custom resources go while the workloads that finish them still
// run, workloads before their accounts and configuration, namespaces at the very end.
func Waves(entries []corev1alpha1.InventoryEntry) [][]corev1alpha1.InventoryEntry {
	ordered := sorted(slices.Clone(entries))
	slices.SortStableFunc(ordered, compareForRemoval)
	var waves [][]corev1alpha1.InventoryEntry
	for i, e := range ordered {
		if i == 0 || compareForRemoval(ordered[i-1], e) != 0 {
			waves = append(waves, nil)
		}
		last := len(waves) - 1
		waves[last] = append(waves[last], e)
	}
	return waves
}

func compareForRemoval(a, b corev1alpha1.InventoryEntry) int {
	return cmp.Or(cmp.Compare(b.Stage, a.Stage), cmp.Compare(rank(b), rank(a)))
}

// rank places a kind among the others of its stage; a higher rank is removed earlier.
func rank(e corev1alpha1.InventoryEntry) int {
	if r, ok := ranks[schema.GroupKind{Group: e.Group, Kind: e.Kind}]; ok {
		return r
	}
	return rankOther
}

const (
	rankNamespace = iota
	rankDefinition
	rankPolicy
	rankConfiguration
	rankRole
	rankBinding
	rankClaim
	rankService
	rankWorkload
	// rankOther is for custom resources and for whatever points at a workload or a
	// Service: ingresses, autoscalers.
	rankOther
	rankAdmission
)

var ranks = func() map[schema.GroupKind]int {
	const (
		core      = ""
		apps      = "apps"
		batch     = "batch"
		rbac      = "rbac.authorization.k8s.io"
		storage   = "storage.k8s.io"
		admission = "admissionregistration.k8s.io"
	)
	byRank := map[int]map[string][]string{
		rankNamespace:  {core: {"Namespace"}},
		rankDefinition: {"apiextensions.k8s.io": {"CustomResourceDefinition"}},
		rankPolicy: {
			core:                {"ResourceQuota", "LimitRange", "PersistentVolume"},
			storage:             {"StorageClass", "VolumeAttributesClass", "CSIDriver"},
			"scheduling.k8s.io": {"PriorityClass"},
			"node.k8s.io":       {"RuntimeClass"},
			"networking.k8s.io": {"IngressClass"},
		},
		rankConfiguration: {core: {"ServiceAccount", "Secret", "ConfigMap"}},
		rankRole:          {rbac: {"ClusterRole", "Role"}},
		rankBinding:       {rbac: {"ClusterRoleBinding", "RoleBinding"}},
		rankClaim: {
			core:                {"PersistentVolumeClaim"},
			"policy":            {"PodDisruptionBudget"},
			"networking.k8s.io": {"NetworkPolicy"},
		},
		rankService: {
			core:               {"Service", "Endpoints"},
			"discovery.k8s.io": {"EndpointSlice"},
		},
		rankWorkload: {
			core:  {"Pod", "ReplicationController"},
			apps:  {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"},
			batch: {"Job", "CronJob"},
		},
		rankAdmission: {
			admission: {
				"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
				"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy",
				"MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",
			},
			"apiregistration.k8s.io": {"APIService"},
		},
	}
	ranks := map[schema.GroupKind]int{}
	for r, groups := range byRank {
		for group, kinds := range groups {
			for _, kind := range kinds {
				ranks[schema.GroupKind{Group: group, Kind: kind}] = r
			}
		}
	}
	return ranks
}()
