// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// afterFailure notes a sync that failed in the history, and runs the syncFailed hooks.
// What they come to changes nothing about the failure. Failures that pass by themselves
// are none.
func (c *Controller) afterFailure(ctx context.Context, s *scope, out outcome) error {
	if out.kind == waits && out.reason == corev1alpha1.ReasonHealthTimeout && !out.unjudged && s.mayRollBack() {
		s.recordFailure(out.message) // it would go on, but is not given more time
	}
	if out.kind != fails && out.kind != rests || out.soon || out.attempt != attemptSync {
		return nil
	}
	if out.kind == fails {
		s.recordFailure(out.message)
	}
	if newest := newestEntry(s.release.Status.History); newest == nil ||
		newest.Render != s.result.Digest || newest.Outcome != corev1alpha1.OutcomeFailed {
		return nil
	}
	hooks := c.runHooks(corev1alpha1.HookSyncFailed)(ctx, s)
	if hooks.kind == aborts {
		return hooks.err
	}
	return c.writeUnwritten(ctx, s) // by its UID, what runs is ended when something else is to be applied
}
