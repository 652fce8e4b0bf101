// SPDX-License-Identifier: Apache-2.0

package health

import (
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
