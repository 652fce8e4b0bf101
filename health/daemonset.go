// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// daemonSet is healthy when every node that should run a pod has one that is available
// and, unless a person decides when (OnDelete), of the newest template. Without such
// nodes it is healthy too. Why pods cannot be made is not in its status.
func daemonSet(obj *unstructured.Unstructured, around Surroundings) Result {
	if result, waits := unseenStrict(obj); waits {
		return result
	}
	want := number(obj, 0, "status", "desiredNumberScheduled")
	scheduled := number(obj, 0, "status", "currentNumberScheduled")
	updated := number(obj, 0, "status", "updatedNumberScheduled")
	available := number(obj, 0, "status", "numberAvailable")
	onDelete := text(obj, "spec", "updateStrategy", "type") == "OnDelete"
	switch {
	case want == 0:
		return healthy("no node is selected")
	case scheduled < want:
		return progressing("%d of %d nodes have a pod%s", scheduled, want, around.lack())
	case updated < want && !onDelete:
		return progressing("%d of %d pods are updated", updated, want)
	case available < want:
		return progressing("%d of %d pods are available", available, want)
	case updated < want:
		return healthy("%d of %d pods are on the new revision", updated, want)
	}
	return healthy("")
}
