// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
			signGates(ctx, r.Status.Lifecycle, old.Status.Lifecycle, metav1.NewTime(clock.Now()))
		},
	}
}

// signGates writes who approved a gate, and when: nobody approves in another's name. What
// was approved before keeps its signature.
func signGates(ctx context.Context, lifecycle, old *corev1alpha1.LifecycleStatus, now metav1.Time) {
	if lifecycle == nil {
		return
	}
	name := ""
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		name = user.GetName()
	}
	// A time is stored in whole seconds; one with more would differ from itself once stored.
	now = now.Rfc3339Copy()
	for i := range lifecycle.Gates {
		gate := &lifecycle.Gates[i]
		switch before := findGate(old, gate.Name); {
		case !gate.Approved:
			gate.By, gate.At = "", nil
		case before != nil && before.Approved:
			gate.By, gate.At = before.By, before.At
		default:
			gate.By, gate.At = name, &now
		}
	}
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
