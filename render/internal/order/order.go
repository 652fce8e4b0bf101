// SPDX-License-Identifier: Apache-2.0

// Package order says in which stage an object is applied, and which kinds come first
// within a stage or among hooks of one weight.
package order

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The stages. Objects of one stage are applied before those of the next.
const (
	Foundations int32 = -2 // namespaces and kinds
	Policies    int32 = -1 // policy, identity and configuration
	Workloads   int32 = 0  // the rest
	Admission   int32 = 1  // what makes the API server call others
)

type place struct {
	stage int32
	rank  int
}

// kinds lists the kinds that have a place of their own, first to last.
var kinds = rank([]struct {
	stage int32
	group string
	kinds []string
}{
	{Foundations, "", []string{"Namespace"}},
	{Foundations, "apiextensions.k8s.io", []string{"CustomResourceDefinition"}},
	{Policies, "scheduling.k8s.io", []string{"PriorityClass"}},
	{Policies, "node.k8s.io", []string{"RuntimeClass"}},
	{Policies, "storage.k8s.io", []string{"StorageClass"}},
	{Policies, "networking.k8s.io", []string{"IngressClass"}},
	{Policies, "", []string{"ResourceQuota", "LimitRange"}},
	{Policies, "networking.k8s.io", []string{"NetworkPolicy"}},
	{Policies, "", []string{"ServiceAccount", "Secret", "ConfigMap"}},
	{Policies, "rbac.authorization.k8s.io", []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}},
	{Workloads, "", []string{"PersistentVolume", "PersistentVolumeClaim", "Service"}},
	{Workloads, "policy", []string{"PodDisruptionBudget"}},
	{Workloads, "apps", []string{"DaemonSet"}},
	{Workloads, "", []string{"Pod", "ReplicationController"}},
	{Workloads, "apps", []string{"ReplicaSet", "Deployment"}},
	{Workloads, "autoscaling", []string{"HorizontalPodAutoscaler"}},
	{Workloads, "apps", []string{"StatefulSet"}},
	{Workloads, "batch", []string{"Job", "CronJob"}},
	{Workloads, "networking.k8s.io", []string{"Ingress"}},
	{Admission, "admissionregistration.k8s.io", []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}},
	{Admission, "apiregistration.k8s.io", []string{"APIService"}},
})

// unlisted is the rank of a kind without a place of its own: after the workloads that may
// serve it, before admission.
const unlisted = 1000

func rank(groups []struct {
	stage int32
	group string
	kinds []string
}) map[schema.GroupKind]place {
	places := map[schema.GroupKind]place{}
	for _, g := range groups {
		for _, kind := range g.kinds {
			next := len(places)
			if g.stage == Admission {
				next += unlisted + 1
			}
			places[schema.GroupKind{Group: g.group, Kind: kind}] = place{stage: g.stage, rank: next}
		}
	}
	return places
}

// Stage gives the stage of a kind.
func Stage(gk schema.GroupKind) int32 { return kinds[gk].stage }

// Rank gives the place of a kind among others; a lower one is applied first.
func Rank(gk schema.GroupKind) int {
	if p, ok := kinds[gk]; ok {
		return p.rank
	}
	return unlisted
}
