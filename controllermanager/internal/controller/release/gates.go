// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"slices"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// awaitGates waits for people to approve something new. What was applied already, such as
// a correction of drift, needs no approval, and an approval holds for one sync.
func (c *Controller) awaitGates(_ context.Context, s *scope) outcome {
	if s.release.Spec.Lifecycle == nil || s.applied().Render == s.result.Digest {
		return next()
	}
	var missing []string
	for _, gate := range s.release.Spec.Lifecycle.Gates {
		if !s.approved(gate.Name) {
			missing = append(missing, "gate "+gate.Name)
		}
	}
	if len(missing) == 0 {
		return next()
	}
	out := wait(corev1alpha1.ConditionApplied, corev1alpha1.ReasonWaitingForGate, fmt.Sprintf(
		"%s waits for the approval of %s through the lifecycle subresource", s.news(), listed(missing, ", ")))
	out.blockedBy = missing
	return out
}

func (s *scope) approved(gate string) bool {
	return s.release.Status.Lifecycle != nil && slices.ContainsFunc(s.release.Status.Lifecycle.Gates,
		func(status corev1alpha1.GateStatus) bool { return status.Name == gate && status.Approved })
}

// consumeApprovals takes the approvals back, after the sync that they were for.
func (s *scope) consumeApprovals() {
	if s.release.Status.Lifecycle == nil {
		return
	}
	for i := range s.release.Status.Lifecycle.Gates {
		gate := &s.release.Status.Lifecycle.Gates[i]
		gate.Approved, gate.By, gate.At = false, "", nil
	}
}
