// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"io"
	"slices"

	"k8s.io/cli-runtime/pkg/printers"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
)

// Health writes one line for each object, and the count. Without any time, as of objects
// that no server has judged, there is no column for it.
func Health(w io.Writer, health *corev1alpha1.ReleaseHealth) error {
	timed := slices.ContainsFunc(health.Objects, func(o corev1alpha1.ObjectHealthDetail) bool { return o.Since != nil })
	table := printers.GetNewTabWriter(w)
	if len(health.Objects) > 0 {
		header := "OBJECT\tSTATUS\tRULE\tSINCE\tMESSAGE\n"
		if !timed {
			header = "OBJECT\tSTATUS\tRULE\tMESSAGE\n"
		}
		fmt.Fprint(table, header)
	}
	healthRows(table, "", timed, health.Objects)
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n", healthTally(countsOf(health.Summary), 0))
	return err
}

// healthRows writes objects, and under each of them those that it owns.
func healthRows(table io.Writer, indent string, timed bool, objects []corev1alpha1.ObjectHealthDetail) {
	for _, object := range objects {
		fmt.Fprintf(table, "%s%s\t%s\t%s\t", indent, naming.Object(object.ObjectKey), object.Status, object.Rule)
		switch {
		case !timed:
		case object.Since == nil && indent != "":
			fmt.Fprint(table, "\t") // nobody follows what is owned
		case object.Since == nil:
			fmt.Fprint(table, "<unknown>\t")
		default:
			fmt.Fprintf(table, "%s\t", ago(*object.Since))
		}
		fmt.Fprintf(table, "%s\n", oneLine(object.Message))
		healthRows(table, indent+"  ", timed, object.Children)
	}
}

func countsOf(summary corev1alpha1.HealthSummary) map[corev1alpha1.HealthStatus]int {
	return map[corev1alpha1.HealthStatus]int{
		corev1alpha1.HealthHealthy: int(summary.Healthy), corev1alpha1.HealthProgressing: int(summary.Progressing),
		corev1alpha1.HealthDegraded: int(summary.Degraded), corev1alpha1.HealthSuspended: int(summary.Suspended),
		corev1alpha1.HealthMissing: int(summary.Missing), corev1alpha1.HealthUnknown: int(summary.Unknown),
	}
}
