// SPDX-License-Identifier: Apache-2.0

package health

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// namespace is healthy when it is Active.
func namespace(obj *unstructured.Unstructured) Result {
	switch phase := text(obj, "status", "phase"); phase {
	case "Active":
		return healthy("")
	case "":
		return progressing("not active yet")
	default:
		return progressing("phase %s", phase)
	}
}

// customResourceDefinition is healthy when its kind is served.
func customResourceDefinition(obj *unstructured.Unstructured) Result {
	if c := find(obj, "NamesAccepted"); c.isFalse() {
		return degraded("names are not accepted%s", detail(c.why()))
	}
	if c := find(obj, "Terminating"); c.isTrue() {
		return progressing("being deleted%s", detail(c.why()))
	}
	switch c := find(obj, "Established"); {
	case c.isTrue():
		return healthy("")
	case c.isFalse() && c.Reason != "Installing":
		return degraded("not established%s", detail(c.why()))
	default:
		return progressing("not established yet%s", detail(c.why()))
	}
}

// apiService is healthy when the API server reaches what serves the group.
func apiService(obj *unstructured.Unstructured) Result {
	c := find(obj, "Available")
	if c.isTrue() {
		return healthy("")
	}
	return progressing("not available yet%s", detail(c.why()))
}

// node is healthy when it is ready and takes pods. One that does not report is unknown, as
// its pods are.
func node(obj *unstructured.Unstructured) Result {
	c := find(obj, "Ready")
	switch {
	case c.isTrue() && flag(obj, "spec", "unschedulable"):
		return suspended("cordoned")
	case c.isTrue():
		return healthy("")
	case c.Status == "Unknown":
		return unknown("does not report%s", detail(c.why()))
	case c.present():
		return progressing("not ready%s", detail(c.why()))
	}
	return progressing("has not reported yet")
}

// certificateRequest judges requests for certificates, of people and of pods: they end with
// a certificate, denied, or failed.
func certificateRequest(obj *unstructured.Unstructured) Result {
	for _, conditionType := range []string{"Denied", "Failed"} {
		if c := find(obj, conditionType); c.isTrue() {
			return degraded("%s%s", strings.ToLower(conditionType), detail(c.why()))
		}
	}
	switch {
	case text(obj, "status", "certificate") != "" || text(obj, "status", "certificateChain") != "":
		return healthy("")
	case find(obj, "Approved").isTrue():
		return progressing("approved, not signed yet")
	}
	return progressing("waits for approval")
}

// resourceClaim is healthy in any case: devices are allocated to it when a pod uses it.
func resourceClaim(obj *unstructured.Unstructured) Result {
	if _, allocated, _ := unstructured.NestedFieldNoCopy(obj.Object, "status", "allocation"); allocated {
		return healthy("")
	}
	return healthy("waits for first consumer")
}

// storageVersionMigration is healthy at its end.
func storageVersionMigration(obj *unstructured.Unstructured) Result {
	if c := find(obj, "Failed"); c.isTrue() {
		return degraded("failed%s", detail(c.why()))
	}
	if find(obj, "Succeeded").isTrue() {
		return healthy("completed")
	}
	return progressing("not completed yet%s", detail(find(obj, "Running").why()))
}

// keptBy is what the kinds of Kubernetes whose deletion takes time say of what it waits for.
func keptBy(obj *unstructured.Unstructured) string {
	var said []string
	add := func(conditionTypes ...string) {
		for _, conditionType := range conditionTypes {
			if c := find(obj, conditionType); c.isTrue() {
				said = append(said, c.why())
			}
		}
	}
	switch obj.GroupVersionKind().GroupKind().String() {
	case "Namespace":
		add("NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure", "NamespaceDeletionContentFailure",
			"NamespaceContentRemaining", "NamespaceFinalizersRemaining")
	case "CustomResourceDefinition.apiextensions.k8s.io":
		add("Terminating")
	case "VolumeAttachment.storage.k8s.io":
		return text(obj, "status", "detachError", "message")
	}
	return strings.Join(said, "; ")
}
