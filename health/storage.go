// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// persistentVolumeClaim is healthy when it is bound. That one which is Pending may well
// wait for its first consumer is not visible in the claim (see the package comment).
func persistentVolumeClaim(obj *unstructured.Unstructured) Result {
	switch text(obj, "status", "phase") {
	case "Bound":
		return healthy("")
	case "Lost":
		return degraded("its volume %q is lost", text(obj, "spec", "volumeName"))
	}
	if volume := text(obj, "spec", "volumeName"); volume != "" {
		return progressing("pending: waits to be bound to volume %q", volume)
	}
	if class := text(obj, "spec", "storageClassName"); class != "" {
		return progressing("pending: waits for a volume of storage class %q, or for its first consumer", class)
	}
	return progressing("pending: waits for a volume, or for its first consumer")
}

// persistentVolume is healthy when it can be used, is used, or was used.
func persistentVolume(obj *unstructured.Unstructured) Result {
	switch text(obj, "status", "phase") {
	case "Bound", "Available":
		return healthy("")
	case "Released":
		return healthy("released: the claim that used it is gone")
	case "Failed":
		return degraded("failed%s", detail(reasoned(text(obj, "status", "reason"), text(obj, "status", "message"))))
	}
	return progressing("pending")
}
