// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// supersede ends the sync that was under way for another render than that of the scope. What
// comes instead has all its time, and waits for a window and for gates like anything new.
func (c *Controller) supersede(_ context.Context, s *scope) outcome {
	s.bindRequest()
	sync := s.release.Status.Sync
	if sync == nil || sync.StartedAt == nil || s.before.Render != nil && s.before.Render.Digest == s.result.Digest {
		return next()
	}
	sync.StartedAt = nil
	return next()
}

// bindRequest notes what is desired when a request for a sync is first looked at. Whoever asked for
// that did not ask for what comes after it.
func (s *scope) bindRequest() {
	if !s.request.pending() && s.release.Status.Sync != nil {
		s.release.Status.Sync.Requested = nil // it was taken back
	}
	if !s.request.pending() || !s.asked() {
		return
	}
	bound := s.sync().Requested
	if bound == nil || bound.At != s.request.plain || bound.ForceAt != s.request.force {
		s.sync().Requested = &corev1alpha1.RequestedSync{At: s.request.plain, ForceAt: s.request.force, Render: s.result.Digest}
		return
	}
	s.requestSpent = bound.Render != s.result.Digest
}

// asked tells whether what is desired is what the source has now, or what a person said.
func (s *scope) asked() bool { return s.source != nil || s.pinnedRender() }

// withoutRender has the condition Rendered say no more that something is being rendered, when
// the pass did not come as far as to want it.
func (s *scope) withoutRender(out outcome) {
	known := meta.FindStatusCondition(s.release.Status.Conditions, corev1alpha1.ConditionRendered)
	if out.step == stepRender || known == nil || known.Status != metav1.ConditionUnknown || known.Reason != corev1alpha1.ReasonProgressing {
		return
	}
	s.set(corev1alpha1.ConditionRendered, metav1.ConditionUnknown, corev1alpha1.ReasonProgressing,
		"is not rendered yet: something comes before, see Ready", s.release.Generation)
}
