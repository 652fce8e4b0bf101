// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
)

// lifecyclePart is status.lifecycle, which has a subresource of its own: who may approve a
// gate need not be able to write the rest of the status.
func lifecyclePart(clock clock.PassiveClock) resource.Part[*corev1alpha1.Release] {
	return resource.Part[*corev1alpha1.Release]{
		Path:     []string{"status", "lifecycle"},
		InStatus: true,
		Take:     func(to, from *corev1alpha1.Release) { to.Status.Lifecycle = from.Status.Lifecycle },
		Finish: func(ctx context.Context, r, old *corev1alpha1.Release) {
			keepGates(r, old)
			signGates(ctx, r, old, metav1.NewTime(clock.Now()))
		},
		Validate: newApprovals,
	}
}

// keepGates keeps the gates that a request does not name, as a merge patch of one gate does
// not name the others: an approval is withdrawn by saying so, and what waits at a gate is
// the controller's to say.
func keepGates(r, old *corev1alpha1.Release) {
	if old.Status.Lifecycle == nil {
		return
	}
	for _, gate := range old.Status.Lifecycle.Gates {
		if findGate(r.Status.Lifecycle, gate.Name) != nil {
			continue
		}
		if r.Status.Lifecycle == nil {
			r.Status.Lifecycle = &corev1alpha1.LifecycleStatus{}
		}
		r.Status.Lifecycle.Gates = append(r.Status.Lifecycle.Gates, gate)
	}
}

// signGates writes who approved a gate, and when: nobody approves in another's name. What
// was approved before keeps its signature. What waits at the gate is filled in where the
// request leaves it out.
func signGates(ctx context.Context, r, old *corev1alpha1.Release, now metav1.Time) {
	if r.Status.Lifecycle == nil {
		return
	}
	name := ""
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		name = user.GetName()
	}
	// A time is stored in whole seconds; one with more would differ from itself once stored.
	now = now.Rfc3339Copy()
	for i := range r.Status.Lifecycle.Gates {
		gate := &r.Status.Lifecycle.Gates[i]
		before := findGate(old.Status.Lifecycle, gate.Name)
		if before == nil {
			before = &corev1alpha1.GateStatus{}
		}
		gate.Revision = before.Revision
		if gate.Render == "" {
			gate.Render = before.Render
		}
		switch {
		case !gate.Approved:
			gate.By, gate.At = "", nil
		case before.Approved && before.Render == gate.Render:
			gate.By, gate.At = before.By, before.At
		default:
			gate.By, gate.At = name, &now
		}
	}
}

// newApprovals refuses to approve what does not wait: a gate that the spec does not have, a
// gate with nothing before it, or another render than the one that waits by now.
func newApprovals(r, old *corev1alpha1.Release) field.ErrorList {
	if r.Status.Lifecycle == nil {
		return nil
	}
	var errs field.ErrorList
	for i, gate := range r.Status.Lifecycle.Gates {
		path := field.NewPath("status", "lifecycle", "gates").Index(i)
		before := findGate(old.Status.Lifecycle, gate.Name)
		switch {
		case before != nil && before.Render != "" && gate.Render == before.Render:
		case before == nil && !declared(r, gate.Name):
			errs = append(errs, field.Invalid(path.Child("name"), gate.Name, "is no gate of this Release: "+declaredGates(r)))
		case before != nil && before.Render != "":
			errs = append(errs, field.Invalid(path.Child("render"), gate.Render, fmt.Sprintf(
				"is not what waits at gate %s: that is %s of %s by now; look at it and approve that", gate.Name, before.Render, before.Revision)))
		case gate.Approved:
			errs = append(errs, field.Forbidden(path.Child("approved"), fmt.Sprintf(
				"nothing waits at gate %s: an approval is for one render, and can be given once status.lifecycle.gates names it", gate.Name)))
		}
	}
	return errs
}

func declared(r *corev1alpha1.Release, name string) bool {
	if r.Spec.Lifecycle == nil {
		return false
	}
	for _, gate := range r.Spec.Lifecycle.Gates {
		if gate.Name == name {
			return true
		}
	}
	return false
}

// declaredGates names the gates of the spec, for people.
func declaredGates(r *corev1alpha1.Release) string {
	if r.Spec.Lifecycle == nil || len(r.Spec.Lifecycle.Gates) == 0 {
		return "spec.lifecycle.gates has none"
	}
	names := make([]string, len(r.Spec.Lifecycle.Gates))
	for i, gate := range r.Spec.Lifecycle.Gates {
		names[i] = gate.Name
	}
	return "spec.lifecycle.gates has " + strings.Join(names, ", ")
}

func findGate(lifecycle *corev1alpha1.LifecycleStatus, name string) *corev1alpha1.GateStatus {
	if lifecycle == nil {
		return nil
	}
	for i := range lifecycle.Gates {
		if lifecycle.Gates[i].Name == name {
			return &lifecycle.Gates[i]
		}
	}
	return nil
}
