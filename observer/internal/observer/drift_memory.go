// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// memory is what the drift loop remembers of a Release. Losing it costs requests, nothing
// else. It belongs to the worker that has the Release's key.
type memory struct {
	uid types.UID
	// applied and generation are the render and the spec that clean and corrections speak of.
	applied    string
	generation int64
	// full says that a complete check is due, and fullAt when the next one is.
	full   bool
	fullAt time.Time
	// clean are fingerprints of the objects that were found as desired although they were written
	// to since they were applied, as they were then.
	clean map[uint64]bool
	// corrections counts how often the same drift of a field was corrected.
	corrections map[string]*correction
	// besidesAt is when other drift was corrected last while some was contested.
	besidesAt time.Time
	// written is the condition InSync as this process wrote it last, at writtenAt.
	written   *metav1.Condition
	writtenAt string
	// requestedAt is the resourceVersion that the last request for a sync gave the Release.
	requestedAt string
	// waitsSince is when a sync was first seen to be asked for or under way that is not
	// complete yet; zero when there is none.
	waitsSince time.Time
}

// syncPatience is how long a sync may take until it is said that nothing is known meanwhile,
// and how long a request may be left alone until objects are compared in spite of it. Most
// take a moment, and are not worth a write or a request.
const syncPatience = 15 * time.Second

// patience is how much of it is left for the sync that is waited for.
func (m *memory) patience(now time.Time) time.Duration {
	if m.waitsSince.IsZero() {
		m.waitsSince = now
	}
	return max(m.waitsSince.Add(syncPatience).Sub(now), 0)
}

// settled ends the wait for a sync.
func (m *memory) settled() { m.waitsSince = time.Time{} }

// nextCheck is when the next complete check of a Release is due: at a time of its own in every
// interval, the same in each process, so that checks are spread and a restart skips none.
func nextCheck(uid types.UID, interval time.Duration, now time.Time) time.Time {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(uid))
	offset := time.Duration(float64(interval) * float64(hash.Sum32()) / (1 << 32))
	next := now.Truncate(interval).Add(offset)
	if !next.After(now) {
		next = next.Add(interval)
	}
	return next
}

// cleanAt is an object with the desired digest and the live resourceVersion at which it was clean.
type cleanAt struct {
	object          corev1alpha1.ObjectKey
	digest, version string
}

// isClean tells whether an object was found as desired with this digest and version.
func (m *memory) isClean(object corev1alpha1.ObjectKey, digest, version string) bool {
	return len(m.clean) > 0 && m.clean[fingerprint(cleanAt{identity(object), digest, version})]
}

func (m *memory) setClean(object corev1alpha1.ObjectKey, digest, version string) {
	m.clean[fingerprint(cleanAt{identity(object), digest, version})] = true
}

// anyVersion is the version of an object whose drift is ignored: it is clean at every one.
const anyVersion = "*"

// startAt drops what speaks of another render or spec than the Release's present ones.
func (m *memory) startAt(release *corev1alpha1.Release) {
	applied := ""
	if release.Status.Applied != nil {
		applied = release.Status.Applied.Render
	}
	if m.clean == nil || m.applied != applied || m.generation != release.Generation {
		m.applied, m.generation = applied, release.Generation
		m.clean, m.corrections = map[uint64]bool{}, map[string]*correction{}
		m.besidesAt = time.Time{}
	}
}

// condition is the newest known InSync: the informer may not have seen yet what this
// process wrote.
func (m *memory) condition(release *corev1alpha1.Release) *metav1.Condition {
	if m.written != nil && older(release.ResourceVersion, m.writtenAt) {
		return m.written
	}
	return meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionInSync)
}

// wrote remembers the answer to a write of InSync.
func (m *memory) wrote(release *corev1alpha1.Release) {
	m.written = meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionInSync)
	m.writtenAt = release.ResourceVersion
}

// requested remembers the answer to a request for a sync.
func (m *memory) requested(release *corev1alpha1.Release) { m.requestedAt = release.ResourceVersion }

// awaitsOwnRequest tells that the informer has not seen yet that this process asked for a
// sync.
func (m *memory) awaitsOwnRequest(release *corev1alpha1.Release) bool {
	return m.requestedAt != "" && older(release.ResourceVersion, m.requestedAt)
}

// older compares resource versions, which an API server issues in rising order. Those that
// are no numbers are not comparable, and the informer is trusted.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
