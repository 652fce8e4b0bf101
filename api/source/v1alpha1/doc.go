// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.kumodo.convoy.source.v1alpha1
// +groupName=source.convoy.kumodo.io

// Package v1alpha1 holds the kinds of source.convoy.kumodo.io: GitRepository,
// HelmRegistry and OCIRegistry. A source says where content is and how it is
// reached; which revision, chart or tag is wanted is said by a Release.
package v1alpha1
