// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// job is healthy when it is complete. While it runs it is progressing: what comes after
// it may need what it does.
func job(obj *unstructured.Unstructured) Result {
	if c := find(obj, "Failed"); c.isTrue() {
		return degraded("failed%s", detail(c.why()))
	}
	if find(obj, "Complete").isTrue() {
		return healthy("completed")
	}
	if flag(obj, "spec", "suspend") {
		return suspended("suspended")
	}
	if c := find(obj, "FailureTarget"); c.isTrue() {
		return progressing("failing, its pods are being ended%s", detail(c.why()))
	}
	return progressing("%d pods run, %d succeeded, %d failed",
		number(obj, 0, "status", "active"), number(obj, 0, "status", "succeeded"), number(obj, 0, "status", "failed"))
}

// cronJob is healthy unless it is suspended; how its Jobs end is theirs to say.
func cronJob(obj *unstructured.Unstructured) Result {
	if flag(obj, "spec", "suspend") {
		return suspended("suspended")
	}
	return healthy("")
}
