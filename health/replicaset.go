// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// replicaSet judges ReplicaSets and ReplicationControllers, whose status is the same:
// healthy when the wanted replicas exist and are available.
func replicaSet(obj *unstructured.Unstructured) Result {
	if result, waits := unseenStrict(obj); waits {
		return result
	}
	want := number(obj, 1, "spec", "replicas")
	total := number(obj, 0, "status", "replicas")
	available := number(obj, 0, "status", "availableReplicas")
	switch {
	case total > want:
		return progressing("replicas more than wanted: %d", total-want)
	case available < want:
		why := ""
		if c := find(obj, "ReplicaFailure"); c.isTrue() {
			why = "; " + c.why()
		}
		return progressing("%d of %d replicas are available%s", available, want, why)
	}
	return healthy("")
}
