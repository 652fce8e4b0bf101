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
		if result, modified := modification(obj); modified {
			return result
		}
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
		return progressing("pending: waits for a volume%s for a pod on node %q%s", class, node, around.lack())
	}
	switch mode, unknown := around.bindingMode(name); {
	case mode == waitsForFirstConsumer:
		return healthy("waits for first consumer")
	case provisioner != "":
		return progressing("pending: waits for provisioner %q to make a volume%s%s", provisioner, class, around.lack())
	case mode == bindsImmediately:
		return progressing("pending: waits for a volume%s%s", class, around.lack())
	default:
		return progressing("pending: waits for a volume%s, or for its first consumer%s%s", class, unknown, around.lack())
	}
}

// expansion judges a claim that is bound and may be asked to grow. That the file system
// grows with the next start of a pod is nothing to wait for.
func expansion(obj *unstructured.Unstructured) Result {
	allocation := text(obj, "status", "allocatedResourceStatuses", "storage")
	if strings.HasSuffix(allocation, "ResizeInfeasible") {
		return degraded("cannot be enlarged: %s", reasoned(allocation, resizeError(obj)))
	}
	if find(obj, "FileSystemResizePending").isTrue() {
		return healthy("its file system is enlarged when a pod uses it anew")
	}
	if c := find(obj, "Resizing"); c.isTrue() {
		return progressing("being enlarged%s", detail(firstOf(resizeError(obj), c.why())))
	}
	return healthy("")
}

// resizeError is why the last attempt to enlarge a volume has failed.
func resizeError(obj *unstructured.Unstructured) string {
	for _, conditionType := range []string{"ControllerResizeError", "NodeResizeError"} {
		if c := find(obj, conditionType); c.isTrue() {
			return c.why()
		}
	}
	return ""
}

// modification decides on a claim that is bound and asks for the attributes of another class
// than it has.
func modification(obj *unstructured.Unstructured) (Result, bool) {
	want, has := text(obj, "spec", "volumeAttributesClassName"), text(obj, "status", "currentVolumeAttributesClassName")
	stage := text(obj, "status", "modifyVolumeStatus", "status")
	if want == "" || want == has || has == "" && stage == "" {
		return Result{}, false
	}
	why := ""
	if c := find(obj, "ModifyVolumeError"); c.isTrue() {
		why = c.why()
	}
	if stage == "Infeasible" && text(obj, "status", "modifyVolumeStatus", "targetVolumeAttributesClassName") == want {
		return degraded("cannot be given the attributes of class %q%s", want, detail(why)), true
	}
	return progressing("is given the attributes of class %q%s", want, detail(reasoned(stage, why))), true
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
