// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// checkSuspended stops a Release that is suspended. What is applied stays.
func (c *Controller) checkSuspended(_ context.Context, s *scope) outcome {
	if !s.release.Spec.Suspend {
		return next()
	}
	return wait(corev1alpha1.ConditionReady, corev1alpha1.ReasonSuspended,
		"nothing is applied or pruned until spec.suspend is false")
}
