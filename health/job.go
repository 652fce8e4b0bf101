// SPDX-License-Identifier: Apache-2.0

package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// job is healthy when it is complete. While it runs it is progressing: what comes after
// it may need what it does. Why it gets no pods is not in its status.
func job(obj *unstructured.Unstructured, around Surroundings) Result {
	active, succeeded, failed := number(obj, 0, "status", "active"), number(obj, 0, "status", "succeeded"), number(obj, 0, "status", "failed")
	none := active == 0 && succeeded == 0 && failed == 0
	if c := find(obj, "Failed"); c.isTrue() {
		if none {
			return degraded("failed%s%s", detail(c.why()), around.lack())
		}
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
	if c := find(obj, "SuccessCriteriaMet"); c.isTrue() {
		return progressing("succeeded, its pods are being ended%s", detail(c.why()))
	}
	if none {
		return progressing("0 pods run, 0 succeeded, 0 failed%s", around.lack())
	}
	return progressing("%d pods run, %d succeeded, %d failed", active, succeeded, failed)
}

// cronJob is healthy unless it is suspended; how its Jobs end is theirs to say.
func cronJob(obj *unstructured.Unstructured) Result {
	if flag(obj, "spec", "suspend") {
		return suspended("suspended")
	}
	return healthy("")
}
