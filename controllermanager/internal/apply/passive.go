// SPDX-License-Identifier: Apache-2.0

package apply

import "k8s.io/apimachinery/pkg/runtime/schema"

// Passive tells the kinds that do nothing by themselves and are well as soon as they
// exist. A stage of such objects needs no waiting once it is applied.
func Passive(gk schema.GroupKind) bool {
	return passive[gk]
}

var passive = map[schema.GroupKind]bool{
	{Kind: "ConfigMap"}:                                                               true,
	{Kind: "Secret"}:                                                                  true,
	{Kind: "ServiceAccount"}:                                                          true,
	{Kind: "LimitRange"}:                                                              true,
	{Kind: "ResourceQuota"}:                                                           true,
	{Kind: "PodTemplate"}:                                                             true,
	{Kind: "Endpoints"}:                                                               true,
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:                                true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                                true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:                         true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                         true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                  true,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                               true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                                   true,
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:                          true,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                                      true,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                      true,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                                true,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:                               true,
	{Group: "coordination.k8s.io", Kind: "Lease"}:                                     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:        true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}:          true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}:   true,
}
