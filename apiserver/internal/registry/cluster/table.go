// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
)

func columns() []resource.Column[*corev1alpha1.Cluster] {
	return []resource.Column[*corev1alpha1.Cluster]{
		{
			Name: "Mode", Description: "How convoy reaches the cluster.",
			Cell: func(c *corev1alpha1.Cluster, _ time.Time) any { return string(c.Spec.Mode) },
		},
		{
			Name: "Ready", Description: "Whether the cluster is reachable, accepts the credentials and answers discovery.",
			Cell: func(c *corev1alpha1.Cluster, _ time.Time) any {
				return resource.ConditionStatus(c.Status.Conditions, corev1alpha1.ConditionReady)
			},
		},
		{
			Name: "Version", Description: "Kubernetes version of the cluster.",
			Cell: func(c *corev1alpha1.Cluster, _ time.Time) any { return c.Status.Version },
		},
		{
			Name: "Releases", Description: "How many of the cluster's Releases are ready, of how many.",
			Cell: func(c *corev1alpha1.Cluster, _ time.Time) any {
				if c.Status.Releases == nil {
					return ""
				}
				return fmt.Sprintf("%d/%d", c.Status.Releases.Ready, c.Status.Releases.Total)
			},
		},
		{
			Name: "Server", Wide: true, Description: "URL of the cluster's API server.",
			Cell: func(c *corev1alpha1.Cluster, _ time.Time) any { return c.Status.Server },
		},
		{
			Name: "Message", Wide: true, Description: "What the condition Ready says.",
			Cell: func(c *corev1alpha1.Cluster, _ time.Time) any {
				return resource.ConditionMessage(c.Status.Conditions, corev1alpha1.ConditionReady)
			},
		},
	}
}
