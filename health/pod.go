// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// pod is healthy when it is ready or has succeeded, and degraded when it has failed or a
// container of it can only be helped from outside.
func pod(obj *unstructured.Unstructured) Result {
	phase := text(obj, "status", "phase")
	why := reasoned(text(obj, "status", "reason"), text(obj, "status", "message"))
	switch phase {
	case "Succeeded":
		return healthy("completed")
	case "Failed":
		return degraded("failed%s", detail(firstOf(why, terminated(obj))))
	case "Unknown":
		return unknown("the node does not report%s", detail(why))
	}
	waiting := waitingContainers(obj)
	for _, container := range waiting {
		if stuck(container.reason) {
			return degraded("%s", container)
		}
	}
	if find(obj, "Ready").isTrue() {
		return healthy("")
	}
	if c := find(obj, "PodScheduled"); c.isFalse() {
		return progressing("not scheduled%s", detail(c.why()))
	}
	if len(waiting) > 0 {
		return progressing("%s%s", waiting[0], restarts(obj))
	}
	if c := find(obj, "Ready"); c.present() {
		return progressing("not ready%s%s", detail(c.why()), restarts(obj))
	}
	return progressing("no container has started")
}

// stuck tells the reasons that do not end by waiting: the kubelet itself backs off, or
// will not try at all. Those of a pull that has failed come and go with ImagePullBackOff.
func stuck(reason string) bool {
	switch reason {
	case "CrashLoopBackOff", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
		"ErrImagePull", "RegistryUnavailable", "SignatureValidationFailed":
		return true
	}
	return false
}

// restarts says of the containers that run again after they have failed how often they
// were restarted: between two crashes nothing else tells.
func restarts(obj *unstructured.Unstructured) string {
	said := ""
	for _, status := range containerStatuses(obj) {
		count := number(status.Unstructured, 0, "restartCount")
		code := number(status.Unstructured, 0, "lastState", "terminated", "exitCode")
		if _, runs, _ := unstructured.NestedFieldNoCopy(status.Object, "state", "running"); !runs || count == 0 || code == 0 {
			continue
		}
		times := fmt.Sprintf("%d times", count)
		if count == 1 {
			times = "once"
		}
		said += fmt.Sprintf("; %s %s was restarted %s, at last after %s", status.kind, text(status.Unstructured, "name"), times, exit(status.Unstructured, "lastState"))
	}
	return said
}

// containerStatus is that of a container, and what kind of one it is.
type containerStatus struct {
	*unstructured.Unstructured
	kind string
}

// containerStatuses lists those of a pod with init containers first, in which order they start.
func containerStatuses(obj *unstructured.Unstructured) []containerStatus {
	var all []containerStatus
	for _, of := range []struct{ kind, field string }{{"init container", "initContainerStatuses"}, {"container", "containerStatuses"}} {
		for _, status := range items(obj, "status", of.field) {
			all = append(all, containerStatus{status, of.kind})
		}
	}
	return all
}

// waitingContainer is a container that is not running, and why.
type waitingContainer struct{ kind, name, reason, message string }

func (c waitingContainer) String() string {
	return c.kind + " " + c.name + " waits" + detail(reasoned(c.reason, c.message))
}

// waitingContainers lists them in the order in which they start.
func waitingContainers(obj *unstructured.Unstructured) []waitingContainer {
	var waiting []waitingContainer
	for _, status := range containerStatuses(obj) {
		if _, found, _ := unstructured.NestedFieldNoCopy(status.Object, "state", "waiting"); !found {
			continue
		}
		waiting = append(waiting, waitingContainer{
			kind:    status.kind,
			name:    text(status.Unstructured, "name"),
			reason:  text(status.Unstructured, "state", "waiting", "reason"),
			message: text(status.Unstructured, "state", "waiting", "message"),
		})
	}
	return waiting
}

// terminated lists the containers of a failed pod that did not end well. Sidecars are ended
// by the kubelet after the others, and fail no pod.
func terminated(obj *unstructured.Unstructured) string {
	var ended []string
	for _, status := range containerStatuses(obj) {
		name := text(status.Unstructured, "name")
		if number(status.Unstructured, 0, "state", "terminated", "exitCode") != 0 && !sidecar(obj, name) {
			ended = append(ended, "container "+name+detail(exit(status.Unstructured, "state")))
		}
	}
	return strings.Join(ended, "; ")
}

// sidecar tells whether a container of the name is an init container that runs beside the
// others.
func sidecar(obj *unstructured.Unstructured, name string) bool {
	for _, container := range items(obj, "spec", "initContainers") {
		if text(container, "name") == name {
			return text(container, "restartPolicy") == "Always"
		}
	}
	return false
}

// exit says how a container ended; of is state or lastState.
func exit(status *unstructured.Unstructured, of string) string {
	code := number(status, 0, of, "terminated", "exitCode")
	reason := text(status, of, "terminated", "reason")
	return reasoned(fmt.Sprintf("exit code %d", code), reasoned(reason, text(status, of, "terminated", "message")))
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
