// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// recordApplied puts the scope's render on top of the history, with its health yet to be
// decided.
func (s *scope) recordApplied() {
	s.putHistory(corev1alpha1.OutcomeApplied, "")
}

// recordFailure puts the scope's render on top of the history as one that could not be
// applied. What is applied already and could not be applied again keeps its outcome.
func (s *scope) recordFailure(message string) {
	if s.result == nil || !s.fresh() {
		return
	}
	s.putHistory(corev1alpha1.OutcomeFailed, message)
	// An attempt that a forced sync asked for is another one, though it ends as the last did.
	if newest := newestEntry(s.release.Status.History); s.forcedSince(newest.At) {
		newest.At = metav1.NewTime(s.now)
	}
}

// putHistory changes the newest entry when it is of the scope's render, and begins a new
// one otherwise. An entry whose health was not decided is superseded then.
func (s *scope) putHistory(result corev1alpha1.HistoryOutcome, message string) {
	status := &s.release.Status
	if newest := newestEntry(status.History); newest != nil && newest.Render == s.result.Digest {
		newest.Approvals = s.approvals()
		s.setOutcome(newest, result, message)
		s.time(newest)
		return
	}
	entry := corev1alpha1.HistoryEntry{
		ID: 1, Revision: s.revision, Render: s.result.Digest, Outcome: result, Reason: s.reason(), Objects: int32(len(s.result.Objects)),
		At: metav1.NewTime(s.now), Approvals: s.approvals(), Message: shorten(message),
	}
	if s.request.pending() {
		entry.RequestedBy = s.release.Annotations[corev1alpha1.AnnotationSyncRequestedBy]
	}
	s.time(&entry)
	if newest := newestEntry(status.History); newest != nil {
		entry.ID = newest.ID + 1
		if newest.Outcome == corev1alpha1.OutcomeApplied {
			s.setOutcome(newest, corev1alpha1.OutcomeSuperseded, "")
		}
	}
	status.History = append([]corev1alpha1.HistoryEntry{entry}, status.History...)
	if message == "" {
		status.History[0].Message = s.rollbackNote(&entry)
	}
	if limit := historyLimit(s.release); len(status.History) > limit {
		status.History = status.History[:limit]
	}
}

// reason is what made the scope's render another one than what is applied.
func (s *scope) reason() corev1alpha1.HistoryReason {
	applied := s.applied()
	switch {
	case s.rolledBack:
		return corev1alpha1.HistoryReasonRollback
	case s.release.Spec.Pin != nil && applied.Generation != s.release.Generation:
		return corev1alpha1.HistoryReasonPin
	case applied.Revision != s.revision:
		return corev1alpha1.HistoryReasonSource
	case applied.Generation != s.release.Generation:
		return corev1alpha1.HistoryReasonSpec
	}
	return corev1alpha1.HistoryReasonValues
}

// time says of an entry how long its sync has taken.
func (s *scope) time(entry *corev1alpha1.HistoryEntry) {
	if entry.StartedAt == nil {
		entry.StartedAt = s.sync().StartedAt
	}
	if entry.StartedAt != nil {
		entry.Duration = &metav1.Duration{Duration: s.now.Sub(entry.StartedAt.Time).Truncate(time.Millisecond)}
	}
}

// recordHealth decides the newest entry by the health of what is applied.
func (s *scope) recordHealth(status metav1.ConditionStatus, reason, message string) {
	newest := newestEntry(s.release.Status.History)
	if newest == nil || newest.Render != s.applied().Render || s.sync().StartedAt != nil {
		return
	}
	switch {
	case status == metav1.ConditionTrue:
		if newest.Outcome == corev1alpha1.OutcomeApplied {
			s.notices = append(s.notices, notice{reason: corev1alpha1.ReasonHealthy, message: short(newest.Revision) + ": " + message})
		}
		s.setOutcome(newest, corev1alpha1.OutcomeHealthy, s.rollbackNote(newest))
	case newest.Outcome != corev1alpha1.OutcomeApplied || status == metav1.ConditionUnknown:
	case reason == corev1alpha1.ReasonHealthTimeout || s.healthOverdue():
		s.setOutcome(newest, corev1alpha1.OutcomeFailed, "did not become healthy: "+message)
	}
}

// maxKept bounds the objects that an entry of the history says are kept.
const maxKept = 20

// recordKept notes with the newest entry what left the Release and stays in the target.
func (s *scope) recordKept() {
	newest := newestEntry(s.release.Status.History)
	if newest == nil {
		return
	}
	for _, text := range s.kept {
		if len(newest.Kept) < maxKept && !slices.Contains(newest.Kept, text) {
			newest.Kept = append(newest.Kept, shorten(text))
		}
	}
}

func (s *scope) setOutcome(entry *corev1alpha1.HistoryEntry, result corev1alpha1.HistoryOutcome, message string) {
	if entry.Outcome != result {
		entry.At = metav1.NewTime(s.now)
	}
	entry.Outcome, entry.Message = result, shorten(message)
}

func newestEntry(history []corev1alpha1.HistoryEntry) *corev1alpha1.HistoryEntry {
	if len(history) == 0 {
		return nil
	}
	return &history[0]
}

func historyLimit(release *corev1alpha1.Release) int {
	if history := release.Spec.History; history != nil && history.Limit != nil {
		return int(max(*history.Limit, 0))
	}
	return defaultHistoryLimit
}
