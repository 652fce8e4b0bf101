// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.kumodo.convoy.extensions.v1alpha1
// +groupName=extensions.convoy.kumodo.io

// Package v1alpha1 holds the kinds of extensions.convoy.kumodo.io: HealthRuleSet
// and GlobalHealthRuleSet, with which users teach convoy the health of kinds that
// it does not know.
package v1alpha1
