// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// record notes that the desired state was applied as a whole, and that requests for it are
// handled.
func (c *Controller) record(_ context.Context, s *scope) outcome {
	before := s.applied()
	fresh := s.fresh()
	if lead, ok := c.sightings.ended(s.key, s.revision, c.config.Clock.Now()); ok {
		c.metrics.applied(s.clusterName(), lead)
	}
	applied := corev1alpha1.AppliedStatus{
		Revision: s.revision, Render: s.result.Digest, Generation: s.release.Generation,
		At: before.At, Objects: int32(len(s.result.Objects)), DeleteHooks: deleteHooks(s.result),
	}
	handled := s.asked() || s.rolledBack // what was rolled back to is what a request sends again
	if fresh || handled && s.request.pending() || s.changes.sent() > 0 {
		applied.At = metav1.NewTime(s.now)
	}
	wholeInOnePass := !s.sync().StartedAt.Time.Before(s.began)
	if fresh {
		s.dropOldHooks()
		s.recordApplied()
	}
	s.sync().StartedAt = nil
	s.release.Status.Applied = &applied
	if handled {
		s.handleRequest()
	}
	if s.changes.sent()+s.changes.pruned > 0 || fresh {
		message := s.appliedNotice(wholeInOnePass)
		if fresh {
			message += approvedBy(s.approvals())
		}
		s.notices = append(s.notices, notice{reason: corev1alpha1.ReasonApplied, message: message})
	}
	message := appliedMessage(applied)
	if len(s.pruning) > 0 {
		message += "; waiting for the deletion of " + listed(s.pruning, ", ")
	}
	if len(s.moving) > 0 {
		message += "; " + listed(s.moving, ", ")
	}
	return s.completed(message)
}

// approvedBy names who approved, for people.
func approvedBy(approvals []corev1alpha1.Approval) string {
	var text strings.Builder
	for _, approval := range approvals {
		fmt.Fprintf(&text, "; gate %s approved by %s", approval.Gate, approval.By)
	}
	return text.String()
}

// deleteHooks counts the hooks that run around a deletion.
func deleteHooks(result *render.Result) int32 {
	var n int32
	for _, hook := range slices.Concat(result.Hooks, result.OtherHooks) {
		if deletes(hook.On) {
			n++
		}
	}
	return n
}

// handleRequest notes the request as handled.
func (s *scope) handleRequest() {
	s.sync().Requested = nil
	if s.request.plain != "" {
		s.sync().LastHandledAt = s.request.plain
	}
	if s.request.force != "" {
		s.sync().LastHandledForceAt = s.request.force
	}
}

// dropOldHooks takes the runs of hooks off the status that the render has no more.
func (s *scope) dropOldHooks() {
	if s.release.Status.Lifecycle == nil {
		return
	}
	s.release.Status.Lifecycle.Hooks = slices.DeleteFunc(s.release.Status.Lifecycle.Hooks, func(status corev1alpha1.HookStatus) bool {
		return !slices.ContainsFunc(slices.Concat(s.result.Hooks, s.result.OtherHooks), func(hook render.Hook) bool { return hook.Name == status.Name })
	})
}

// sent is how many objects were sent to the target and made a difference there.
func (n changes) sent() int { return n.created + n.configured }

// appliedNotice says what was done. The counts are of this pass, and say something of a
// sync only if it was all of it.
func (s *scope) appliedNotice(wholeInOnePass bool) string {
	if !wholeInOnePass {
		return fmt.Sprintf("%s applied: %s", short(s.revision), count(len(s.result.Objects), "object"))
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{s.changes.created, "created"}, {s.changes.configured, "changed"}, {s.changes.pruned, "pruned"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if len(parts) == 0 {
		return short(s.revision) + " applied"
	}
	return fmt.Sprintf("%s applied: %s", short(s.revision), strings.Join(parts, ", "))
}
