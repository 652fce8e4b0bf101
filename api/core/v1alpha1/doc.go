// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:conversion-gen=false
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.kumodo.convoy.core.v1alpha1
// +groupName=core.convoy.kumodo.io

// Package v1alpha1 holds the kinds of core.convoy.kumodo.io: Cluster, Release and
// ReleaseInventory, the answers of a Release's subresources, and the well-known
// names, condition types and reasons that users and programs meet.
package v1alpha1
