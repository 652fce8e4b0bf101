// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// statefulSet is healthy when every wanted pod is ready and those that the update
// strategy changes by itself are of the newest revision: all of them, those from the
// partition on, or none under OnDelete, where a person deletes pods when it suits. The
// message counts the pods that are left at an older revision on purpose, and says why pods
// cannot be made, which the status of a StatefulSet does not.
func statefulSet(obj *unstructured.Unstructured, around Surroundings) Result {
	if result, waits := unseenStrict(obj); waits {
		return result
	}
	want := number(obj, 1, "spec", "replicas")
	total := number(obj, 0, "status", "replicas")
	ready := number(obj, 0, "status", "readyReplicas")
	if number(obj, 0, "spec", "minReadySeconds") > 0 {
		ready = min(ready, number(obj, 0, "status", "availableReplicas"))
	}
	updated := number(obj, 0, "status", "updatedReplicas")
	why := ""
	if total < want {
		why = around.lack()
	}
	switch {
	case total > want:
		return progressing("pods more than wanted: %d", total-want)
	case updated < updatedByStrategy(obj, want):
		return progressing("%d of %d pods are updated%s", updated, updatedByStrategy(obj, want), why)
	case ready < want:
		return progressing("%d of %d pods are ready%s", ready, want, why)
	case updated < want:
		return healthy("%d of %d pods are on the new revision", updated, want)
	}
	return healthy("")
}

// updatedByStrategy is how many of the wanted pods are updated without anyone's doing. The
// partition counts pods, whatever the ordinal of the first.
func updatedByStrategy(obj *unstructured.Unstructured, want int64) int64 {
	if text(obj, "spec", "updateStrategy", "type") == "OnDelete" {
		return 0
	}
	partition := number(obj, 0, "spec", "updateStrategy", "rollingUpdate", "partition")
	return min(max(want-partition, 0), want)
}
