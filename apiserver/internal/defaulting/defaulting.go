// SPDX-License-Identifier: Apache-2.0

// Package defaulting writes the defaults that the API types document into objects, so that
// what holds is what is stored and shown. A default that depends on another field which
// may change later (a hook's timeout, a burst) is not written: it would outlive its cause.
// Nor is a default of a choice of which at most one member may be set (a Git or OCI ref):
// once written, it would forbid choosing another member.
//
// Every function may be called any number of times on the same object.
package defaulting

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
)

const (
	sourceInterval = 10 * time.Minute
	sourceTimeout  = 60 * time.Second
)

// Cluster writes the defaults of a Cluster.
func Cluster(c *corev1alpha1.Cluster) {
	if c.Spec.Agentless == nil {
		fill(&c.Spec.Mode, corev1alpha1.ClusterModeInCluster)
		return
	}
	fill(&c.Spec.Mode, corev1alpha1.ClusterModeAgentless)
	if kubeconfig := c.Spec.Agentless.Auth.Kubeconfig; kubeconfig != nil {
		fill(&kubeconfig.SecretRef.Key, corev1alpha1.DefaultKubeconfigKey)
	}
}

// GitRepository writes the defaults of a GitRepository.
func GitRepository(r *sourcev1alpha1.GitRepository) {
	fill(&r.Spec.Provider, sourcev1alpha1.GitProviderGeneric)
	fillDuration(&r.Spec.Interval, sourceInterval)
	fillDuration(&r.Spec.Timeout, sourceTimeout)
}

// HelmRegistry writes the defaults of a HelmRegistry.
func HelmRegistry(r *sourcev1alpha1.HelmRegistry) {
	fillDuration(&r.Spec.Interval, sourceInterval)
	fillDuration(&r.Spec.Timeout, sourceTimeout)
}

// OCIRegistry writes the defaults of an OCIRegistry.
func OCIRegistry(r *sourcev1alpha1.OCIRegistry) {
	fill(&r.Spec.Provider, sourcev1alpha1.OCIProviderGeneric)
	fillDuration(&r.Spec.Interval, sourceInterval)
	fillDuration(&r.Spec.Timeout, sourceTimeout)
}

// fill sets a string that is empty.
func fill[T ~string](value *T, def T) {
	if *value == "" {
		*value = def
	}
}

// fillPointer sets a pointer that is nil.
func fillPointer[T any](value **T, def T) {
	if *value == nil {
		*value = &def
	}
}

func fillDuration(value **metav1.Duration, def time.Duration) {
	fillPointer(value, metav1.Duration{Duration: def})
}
