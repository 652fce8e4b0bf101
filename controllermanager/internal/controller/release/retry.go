// SPDX-License-Identifier: Apache-2.0

package release

import (
	"crypto/sha256"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/internal/sources"
)

// attempt is a failed attempt. It is remembered with the input that it was made with, so that events do
// not repeat it before its backoff is over, and any change of input repeats it at once. What is lost with
// the process costs one early attempt.
type attempt struct {
	name   string
	inputs [sha256.Size]byte
	count  int32
	// due is when the attempt may be repeated; the zero time: not before the input changes.
	due time.Time
}

// longestSoon is the longest delay after failures that are likely to pass by themselves.
const longestSoon = 15 * time.Second

// early tells whether an attempt must not be repeated with the present input yet, and for
// how long; 0: until the input changes.
func (s *scope) early(name string) (remaining time.Duration, early bool) {
	last := s.attempt
	switch {
	case last == nil || last.name != name || last.inputs != fingerprint(s):
		return 0, false
	case last.due.IsZero():
		return 0, true
	}
	remaining = last.due.Sub(s.now)
	return max(remaining, 0), remaining > 0
}

// keepAttempt remembers the failed attempt that a pass ended with, if it did.
func (c *Controller) keepAttempt(s *scope) {
	if s.attempt == nil {
		c.attempts.forget(s.key)
		return
	}
	c.attempts.keep(s.key, s.attempt)
}

// failedAgain gives the failed attempt that a pass ends with, counted on from the last one
// with the same input; one that fails once more before it is due, because an event came and the
// step asks anew each time, is the last one still. known is what the status tells of attempts
// before this process started.
func (s *scope) failedAgain(out outcome, known int32) *attempt {
	failed := &attempt{name: out.attempt, inputs: out.inputs, count: 1}
	if failed.inputs == [sha256.Size]byte{} {
		failed.inputs = fingerprint(s)
	}
	switch last := s.attempt; {
	case last == nil:
		failed.count = known + 1
	case last.name != failed.name || last.inputs != failed.inputs:
	case s.now.Before(last.due):
		*failed = *last
	default:
		failed.count = last.count + 1
	}
	return failed
}

// countAttempt records the end of a pass among the attempts: how often it failed, and when
// the next attempt is due.
func countAttempt(s *scope, out outcome) {
	sync := s.sync()
	switch out.kind {
	case rests:
		return
	case completes, waits:
		s.attempt = nil
		sync.Attempts, sync.NextRetryAt, sync.LastError = 0, nil, ""
		return
	}
	sync.LastError = shorten(out.message)
	known := int32(0)
	if s.before.Sync != nil && s.before.ObservedGeneration == s.release.Generation {
		known = s.before.Sync.Attempts
	}
	if out.stuck {
		s.attempt = nil // what failed before is tried again when it is desired again
		sync.Attempts, sync.NextRetryAt = max(known, 1), nil
		return
	}
	s.attempt = s.failedAgain(out, known)
	sync.Attempts, sync.NextRetryAt = s.attempt.count, nil
	if limit := retryLimit(s.release); limit >= 0 && sync.Attempts > limit {
		s.attempt.due = time.Time{}
		return
	}
	if !s.now.Before(s.attempt.due) {
		delay := backoff(s.release, sync.Attempts)
		if out.soon {
			delay = min(delay, longestSoon)
		}
		if out.within > 0 {
			delay = min(delay, out.within)
		}
		s.attempt.due = s.now.Add(delay)
	}
	sync.NextRetryAt = &metav1.Time{Time: s.attempt.due}
	s.wakeIn(s.attempt.due.Sub(s.now))
}

// backoff is the delay after so many failed attempts.
func backoff(release *corev1alpha1.Release, attempts int32) time.Duration {
	delay, longest := defaultInitialBackoff, defaultMaxBackoff
	if retry := release.Spec.Sync.Retry; retry != nil {
		if retry.InitialBackoff != nil && retry.InitialBackoff.Duration > 0 {
			delay = retry.InitialBackoff.Duration
		}
		if retry.MaxBackoff != nil && retry.MaxBackoff.Duration > 0 {
			longest = retry.MaxBackoff.Duration
		}
	}
	for range attempts - 1 {
		if delay >= longest/2 {
			return longest
		}
		delay *= 2
	}
	return min(delay, longest)
}

func retryLimit(release *corev1alpha1.Release) int32 {
	if retry := release.Spec.Sync.Retry; retry != nil && retry.Limit != nil {
		return *retry.Limit
	}
	return -1
}

// fingerprint is a digest of the input that the pass has found so far. A step that runs
// again has found the same fields, so that it can compare them with its last attempt.
func fingerprint(s *scope) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintln(h, s.release.UID, s.release.Generation, s.request.mark())
	if s.awaitedState != "" {
		fmt.Fprintln(h, "awaited", s.awaitedState)
	}
	if s.references != "" {
		fmt.Fprint(h, "references ", s.references)
	}
	if s.cluster != nil {
		fmt.Fprintln(h, "cluster", s.cluster.UID, s.cluster.Generation, readyDigest(s.cluster.Status.Conditions))
	}
	if s.source != nil {
		fmt.Fprintln(h, "source", s.source.GetUID(), s.source.GetGeneration(), readyDigest(sources.Conditions(s.source)))
	}
	if s.artifact != nil {
		fmt.Fprintln(h, "artifact", s.artifact.Digest)
	}
	if s.result != nil {
		fmt.Fprintln(h, "render", s.result.Digest, s.run)
	} else {
		fmt.Fprintln(h, "revision", s.revision)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// readyDigest is what of a Ready condition makes a difference to whoever depends on it.
func readyDigest(conditions []metav1.Condition) string {
	ready := meta.FindStatusCondition(conditions, corev1alpha1.ConditionReady)
	if ready == nil {
		return ""
	}
	return fmt.Sprint(ready.Status, ready.Reason)
}
