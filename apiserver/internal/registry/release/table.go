// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
)

// shownDigits of a digest are enough to tell one from another at a glance.
const shownDigits = 8

func columns() []resource.Column[*corev1alpha1.Release] {
	return []resource.Column[*corev1alpha1.Release]{
		{
			Name: "Cluster", Description: "Cluster to which the Release is delivered.",
			Cell: func(r *corev1alpha1.Release, _ time.Time) any { return r.Spec.ClusterRef.Name },
		},
		{
			Name: "Wave", Type: "integer", Description: "Order of the Release among those of its cluster.",
			Cell: func(r *corev1alpha1.Release, _ time.Time) any { return int64(r.Spec.Wave) },
		},
		{
			Name: "Revision", Description: "Revision of the source that was found last.",
			Cell: func(r *corev1alpha1.Release, _ time.Time) any { return revision(r) },
		},
		condition("Ready", "Summary of all conditions.", corev1alpha1.ConditionReady),
		condition("Healthy", "Whether the applied objects are healthy.", corev1alpha1.ConditionHealthy),
		condition("InSync", "Whether the cluster is as it was applied.", corev1alpha1.ConditionInSync),
		{
			Name: "Source", Wide: true, Description: "Object that says where the content is.",
			Cell: func(r *corev1alpha1.Release, _ time.Time) any { return sourceRef(&r.Spec.Source) },
		},
		{
			Name: "Render", Wide: true, Description: "Digest of the last render.",
			Cell: func(r *corev1alpha1.Release, _ time.Time) any {
				if r.Status.Render == nil {
					return ""
				}
				return abbreviate(r.Status.Render.Digest)
			},
		},
		{
			Name: "Message", Wide: true, Description: "What the condition Ready says.",
			Cell: func(r *corev1alpha1.Release, _ time.Time) any {
				return resource.ConditionMessage(r.Status.Conditions, corev1alpha1.ConditionReady)
			},
		},
	}
}

func condition(name, description, conditionType string) resource.Column[*corev1alpha1.Release] {
	return resource.Column[*corev1alpha1.Release]{
		Name: name, Description: description,
		Cell: func(r *corev1alpha1.Release, _ time.Time) any {
			return resource.ConditionStatus(r.Status.Conditions, conditionType)
		},
	}
}

func revision(r *corev1alpha1.Release) string {
	if r.Status.Source == nil {
		return ""
	}
	return abbreviate(r.Status.Source.Revision)
}

// abbreviate shortens the digest at the end of a revision.
func abbreviate(revision string) string {
	colon := strings.LastIndex(revision, ":")
	if end := colon + 1 + shownDigits; colon >= 0 && end < len(revision) {
		return revision[:end]
	}
	return revision
}

func sourceRef(s *corev1alpha1.ReleaseSource) string {
	switch {
	case s.Git != nil:
		return "GitRepository/" + s.Git.RepositoryRef.Name
	case s.Helm != nil:
		return "HelmRegistry/" + s.Helm.RegistryRef.Name
	case s.OCI != nil:
		return "OCIRegistry/" + s.OCI.RegistryRef.Name
	}
	return ""
}
