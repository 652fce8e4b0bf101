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
		return progressing("%s", waiting[0])
	}
	if c := find(obj, "Ready"); c.present() {
		return progressing("not ready%s", detail(c.why()))
	}
	return progressing("no container has started")
}

// stuck tells the reasons that do not end by waiting: the kubelet itself backs off, or
// will not try at all.
func stuck(reason string) bool {
	switch reason {
	case "CrashLoopBackOff", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		return true
	}
	return false
}

// waitingContainer is a container that is not running, and why.
type waitingContainer struct{ kind, name, reason, message string }

func (c waitingContainer) String() string {
	return c.kind + " " + c.name + " waits" + detail(reasoned(c.reason, c.message))
}

// waitingContainers lists them with init containers first, in which order they start.
func waitingContainers(obj *unstructured.Unstructured) []waitingContainer {
	var waiting []waitingContainer
	collect := func(kind, field string) {
		for _, status := range items(obj, "status", field) {
			if _, found, _ := unstructured.NestedFieldNoCopy(status.Object, "state", "waiting"); !found {
				continue
			}
			waiting = append(waiting, waitingContainer{
				kind:    kind,
				name:    text(status, "name"),
				reason:  text(status, "state", "waiting", "reason"),
				message: text(status, "state", "waiting", "message"),
			})
		}
	}
	collect("init container", "initContainerStatuses")
	collect("container", "containerStatuses")
	return waiting
}

// terminated lists the containers of a failed pod that did not end well.
func terminated(obj *unstructured.Unstructured) string {
	var ended []string
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, status := range items(obj, "status", field) {
			if number(status, 0, "state", "terminated", "exitCode") != 0 {
				ended = append(ended, "container "+text(status, "name")+detail(exit(status)))
			}
		}
	}
	return strings.Join(ended, "; ")
}

func exit(status *unstructured.Unstructured) string {
	code := number(status, 0, "state", "terminated", "exitCode")
	reason := text(status, "state", "terminated", "reason")
	return reasoned(fmt.Sprintf("exit code %d", code), reasoned(reason, text(status, "state", "terminated", "message")))
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
