// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// persistentVolumeClaim is healthy when it is bound, and while it waits for its first
// consumer: that may be for ever, and what comes after it may be that consumer. The
// storage class tells, or, once a pod was scheduled or a provisioner asked, the claim.
func persistentVolumeClaim(obj *unstructured.Unstructured, around Surroundings) Result {
	switch text(obj, "status", "phase") {
	case "Bound":
		return expansion(obj)
	case "Lost":
		return degraded("its volume %q is lost", text(obj, "spec", "volumeName"))
	}
	annotations := obj.GetAnnotations()
	node, provisioner := annotations["volume.kubernetes.io/selected-node"], annotations["volume.kubernetes.io/storage-provisioner"]
	name, class := text(obj, "spec", "storageClassName"), ""
	if name != "" {
		class = fmt.Sprintf(" of storage class %q", name)
	}
	switch volume := text(obj, "spec", "volumeName"); {
	case volume != "":
		return progressing("pending: waits to be bound to volume %q", volume)
	case node != "":
		return progressing("pending: waits for a volume%s for a pod on node %q", class, node)
	}
	switch mode := around.bindingMode(name); {
	case mode == waitsForFirstConsumer:
		return healthy("waits for first consumer")
	case provisioner != "":
		return progressing("pending: waits for provisioner %q to make a volume%s", provisioner, class)
	case mode == bindsImmediately:
		return progressing("pending: waits for a volume%s", class)
	}
	return progressing("pending: waits for a volume%s, or for its first consumer", class)
}

// expansion judges a claim that is bound and may be asked to grow. That the file system
// grows with the next start of a pod is nothing to wait for.
func expansion(obj *unstructured.Unstructured) Result {
	allocation := text(obj, "status", "allocatedResourceStatuses", "storage")
	if strings.HasSuffix(allocation, "ResizeInfeasible") {
		return degraded("cannot be enlarged: %s", allocation)
	}
	if find(obj, "FileSystemResizePending").isTrue() {
		return healthy("its file system is enlarged when a pod uses it anew")
	}
	if c := find(obj, "Resizing"); c.isTrue() {
		return progressing("being enlarged%s", detail(c.why()))
	}
	return healthy("")
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

// volumeAttachment is healthy when the volume is attached.
func volumeAttachment(obj *unstructured.Unstructured) Result {
	if flag(obj, "status", "attached") {
		return healthy("")
	}
	return progressing("not attached yet%s", detail(text(obj, "status", "attachError", "message")))
}
