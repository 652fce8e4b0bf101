// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deployment is healthy when every wanted replica is of the newest template and
// available, and no older one is left.
func deployment(obj *unstructured.Unstructured) Result {
	if result, waits := unseenStrict(obj); waits {
		return result
	}
	if flag(obj, "spec", "paused") {
		return suspended("paused: its template is not rolled out")
	}
	if c := find(obj, "Progressing"); c.Reason == "ProgressDeadlineExceeded" {
		return degraded("%s", c.why())
	}
	if waits := rollout(obj); waits != "" {
		// Quota and admission show here, while the counts only say that pods lack.
		if c := find(obj, "ReplicaFailure"); c.isTrue() {
			waits += "; " + c.why()
		}
		return progressing("%s", waits)
	}
	return healthy("")
}

// rollout says what a rollout waits for, nothing when it is over.
func rollout(obj *unstructured.Unstructured) string {
	want := number(obj, 1, "spec", "replicas")
	total := number(obj, 0, "status", "replicas")
	updated := number(obj, 0, "status", "updatedReplicas")
	available := number(obj, 0, "status", "availableReplicas")
	switch {
	case updated < want:
		return fmt.Sprintf("%d of %d replicas are updated", updated, want)
	case total > updated:
		return fmt.Sprintf("old replicas that wait for their end: %d", total-updated)
	case updated > want:
		return fmt.Sprintf("replicas more than wanted: %d", updated-want)
	case available < want:
		return fmt.Sprintf("%d of %d replicas are available", available, want)
	}
	return ""
}
