// SPDX-License-Identifier: Apache-2.0

package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/naming"
)

// healthOrder is the order in which objects are counted for people.
var healthOrder = []corev1alpha1.HealthStatus{
	corev1alpha1.HealthHealthy, corev1alpha1.HealthProgressing, corev1alpha1.HealthDegraded,
	corev1alpha1.HealthSuspended, corev1alpha1.HealthMissing, corev1alpha1.HealthUnknown,
}

// writeHealth writes how many objects of a Release are how well, and lists those that are not
// healthy. As in the condition Healthy, an object counts once it is applied as desired, and
// those of hooks do not. Nothing is written before the first judgement.
func writeHealth(w io.Writer, inventory []corev1alpha1.ReleaseInventory) {
	known := map[corev1alpha1.ObjectKey]corev1alpha1.ObjectHealth{}
	var entries []corev1alpha1.InventoryEntry
	judged := false
	for _, page := range inventory {
		judged = judged || page.Status.Summary != nil
		entries = append(entries, page.Spec.Entries...)
		for _, one := range page.Status.Health {
			known[naming.Identity(one.ObjectKey)] = one
		}
	}
	if !judged {
		return
	}
	counts, underWay := map[corev1alpha1.HealthStatus]int{}, 0
	var lines []string
	for _, entry := range entries {
		one := known[naming.Identity(entry.ObjectKey)]
		one.Status = cmp.Or(one.Status, corev1alpha1.HealthUnknown)
		name := naming.Object(entry.ObjectKey)
		switch {
		case entry.Hook != "":
			name += " (hook " + entry.Hook + ")"
		case entry.Digest == "":
			underWay++
			continue
		default:
			counts[one.Status]++
		}
		if one.Message == string(one.Status) {
			one.Message = "" // once is enough
		}
		if one.Status != corev1alpha1.HealthHealthy {
			lines = append(lines, fmt.Sprintf("%s\t%s\t%s\n", name, one.Status, oneLine(one.Message)))
		}
	}
	fmt.Fprintf(w, "\nObjects:\t%s\n%s", healthTally(counts, underWay), strings.Join(lines, ""))
}

func healthTally(counts map[corev1alpha1.HealthStatus]int, underWay int) string {
	var parts []string
	for _, status := range healthOrder {
		if n := counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if underWay > 0 {
		parts = append(parts, fmt.Sprintf("%d to be applied or pruned", underWay))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
