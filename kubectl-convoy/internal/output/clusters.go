// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Clusters gives a line for each Cluster.
func Clusters(clusters *corev1alpha1.ClusterList, withNamespace, wide bool) *Table {
	columns := []string{"NAME", "MODE", "READY", "VERSION", "RELEASES", "AGE", "MESSAGE"}
	if wide {
		columns = []string{"NAME", "MODE", "READY", "VERSION", "RELEASES", "SERVER", "LATENCY", "ASKED", "AGE", "MESSAGE"}
	}
	if withNamespace {
		columns = append([]string{"NAMESPACE"}, columns...)
	}
	table := NewTable(columns...)
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		ready := meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady)
		var row []any
		if withNamespace {
			row = append(row, cluster.Namespace)
		}
		row = append(row, cluster.Name, cluster.Spec.Mode, conditionCell(ready), cluster.Status.Version, readyReleases(cluster))
		if wide {
			row = append(row, cluster.Status.Server, latency(cluster), asked(cluster))
		}
		message := ""
		switch {
		case cluster.Spec.Suspend:
			message = "suspended"
		case ready != nil:
			message = oneLine(ready.Message)
		}
		table.Add(append(row, ago(cluster.CreationTimestamp), message)...)
	}
	return table
}

// readyReleases gives how many Releases are Ready, of how many.
func readyReleases(cluster *corev1alpha1.Cluster) string {
	if cluster.Status.Releases == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d", cluster.Status.Releases.Ready, cluster.Status.Releases.Total)
}

func latency(cluster *corev1alpha1.Cluster) string {
	if cluster.Status.Latency == nil {
		return ""
	}
	return cluster.Status.Latency.Duration.String()
}

func asked(cluster *corev1alpha1.Cluster) string {
	if cluster.Status.LastProbeTime == nil {
		return ""
	}
	return ago(*cluster.Status.LastProbeTime) + " ago"
}
