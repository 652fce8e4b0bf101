// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// unreachable are the reasons for which nobody can ask the target of a Release anything. That an
// identity may not do something, or that a Cluster is suspended, is none of them.
var unreachable = map[string]bool{
	corev1alpha1.ReasonTargetUnreachable: true, corev1alpha1.ReasonAuthenticationFailed: true,
	corev1alpha1.ReasonClusterNotFound: true, corev1alpha1.ReasonSecretNotFound: true,
	corev1alpha1.ReasonInvalidConfiguration: true,
}

// letGo says what a deletion goes without, and ends one whose target could not be reached for as long as the Release's
// annotation orphan-after says. Since when that is so is in the status: it does not begin anew
// with another process, but it does whenever the target was reached.
func (c *Controller) letGo(ctx context.Context, s *scope, out outcome) outcome {
	switch {
	case s.finished || out.kind == aborts:
		return out
	case out.kind == rests: // what the last attempt found still holds
	case !unreachable[out.reason]:
		s.sync().UnreachableSince = nil
	case s.sync().UnreachableSince == nil:
		s.sync().UnreachableSince = &metav1.Time{Time: s.now}
	}
	if s.without != "" && out.kind != rests {
		out.message += "; " + s.without
	}
	patience, ok := orphanAfter(s.release)
	since := s.sync().UnreachableSince
	if since == nil || !ok {
		return out
	}
	said := fmt.Sprintf("its annotation %s: %s", corev1alpha1.AnnotationOrphanAfter, s.release.Annotations[corev1alpha1.AnnotationOrphanAfter])
	left := untilFrom(since.Time, patience, s.now)
	if left == 0 && s.unasked {
		s.wakeIn(time.Second)
		return out
	}
	if left == 0 {
		return c.giveUp(ctx, s, fmt.Errorf("Cluster %s could not be reached since %s, and the Release was let go, as %s says",
			s.release.Spec.ClusterRef.Name, since.UTC().Format(time.RFC3339), said))
	}
	s.wakeIn(left)
	if out.kind != rests {
		out.message += fmt.Sprintf("; %s lets it go at %s", said, since.Add(patience).UTC().Format(time.RFC3339))
	}
	return out
}

// lastTry tells whether the target of a deleted Release is to be asked once more, whatever is said of it, because the
// Release would go without it otherwise: what is said may be from before convoy was down itself.
func (s *scope) lastTry() bool {
	patience, ok := orphanAfter(s.release)
	since := s.sync().UnreachableSince
	return ok && since != nil && untilFrom(since.Time, patience, s.now) == 0
}

// tryReach asks the target for an object of the Release, if that is the last try.
func (c *Controller) tryReach(ctx context.Context, s *scope) outcome {
	if !s.lastTry() || len(s.entries()) == 0 {
		return next()
	}
	if _, err := lookUp(ctx, s.target, s.entries()[0].ObjectKey); ofConnection(err) {
		return c.cannotClean(ctx, s, targetReason(err), err)
	}
	return next()
}

// orphanAfter gives how long the target of a deleted Release may be unreachable before the
// Release goes without it; ok is false when it waits for ever.
func orphanAfter(release *corev1alpha1.Release) (patience time.Duration, ok bool) {
	patience, err := time.ParseDuration(release.Annotations[corev1alpha1.AnnotationOrphanAfter])
	return patience, err == nil && patience > 0
}
