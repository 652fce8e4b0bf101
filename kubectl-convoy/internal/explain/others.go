// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/wayout"
)

// otherReleases tells of the Releases that a Release waits for, and of why those are not
// further, to the end of the chain.
func otherReleases(facts Facts, seen map[string]bool) []Finding {
	var found []Finding
	for _, wait := range awaited(facts) {
		finding := Finding{Subject: wait.subject, Message: wait.lack}
		if wait.release != nil && !seen[wait.release.Name] {
			below := explainWithout(Facts{Release: wait.release, Others: facts.Others, Now: facts.Now}, seen)
			finding.Causes = below.Blockers
			if len(finding.Causes) == 0 {
				finding.Do = []string{wayout.Command(wait.release.Namespace, "why", wait.release.Name)}
			}
		}
		found = append(found, finding)
	}
	return found
}

// wait is a Release that is waited for, nil when it does not exist.
type wait struct {
	subject, lack string
	release       *corev1alpha1.Release
}

// awaited gives the Releases of a lower wave, and those that are depended on, that are not
// Applied and Healthy.
func awaited(facts Facts) []wait {
	release := facts.Release
	var waits []wait
	byName := map[string]*corev1alpha1.Release{}
	for i := range facts.Others {
		other := &facts.Others[i]
		byName[other.Name] = other
		if other.Spec.ClusterRef.Name != release.Spec.ClusterRef.Name || other.Spec.Wave >= release.Spec.Wave || !other.DeletionTimestamp.IsZero() {
			continue
		}
		if lack := lacks(other); lack != "" {
			waits = append(waits, wait{fmt.Sprintf("Release %s (wave %d)", other.Name, other.Spec.Wave), lack, other})
		}
	}
	slices.SortStableFunc(waits, func(a, b wait) int {
		return cmp.Or(cmp.Compare(a.release.Spec.Wave, b.release.Spec.Wave), strings.Compare(a.release.Name, b.release.Name))
	})
	for _, dependency := range release.Spec.DependsOn {
		other := byName[dependency.Name]
		switch {
		case other == nil:
			waits = append(waits, wait{"Release " + dependency.Name, "does not exist: create it, or take it out of spec.dependsOn", nil})
		case dependency.ReadyExpr != "":
			waits = append(waits, wait{"Release " + dependency.Name, "has to fulfil " + dependency.ReadyExpr, nil})
		default:
			if lack := lacks(other); lack != "" {
				waits = append(waits, wait{"Release " + dependency.Name, lack, other})
			}
		}
	}
	return waits
}

// lacks says what a Release lacks for others to go on; "" for nothing.
func lacks(release *corev1alpha1.Release) string {
	for _, name := range []string{corev1alpha1.ConditionApplied, corev1alpha1.ConditionHealthy} {
		condition := current(release, name)
		switch {
		case condition == nil:
			return "is not " + name + " at its present spec"
		case condition.Status != metav1.ConditionTrue:
			return fmt.Sprintf("is not %s (%s)", name, condition.Reason)
		}
	}
	return ""
}
