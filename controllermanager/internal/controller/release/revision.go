// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
)

// findRevision finds the source and the revision that is wanted of it. A moving reference
// is looked at once an interval, and again when a sync is requested. A Release that is
// pinned to a render needs no source.
func (c *Controller) findRevision(ctx context.Context, s *scope) outcome {
	if pin := s.release.Spec.Pin; pin != nil && pin.Render != "" {
		return holds(corev1alpha1.ConditionSourceReady, corev1alpha1.ReasonFetched,
			"pinned to render "+pin.Render+", the source is not asked")
	}
	if ended := c.findSource(s); ended.kind != proceeds {
		return ended
	}
	s.want = fetch.Want{Namespace: s.key.Namespace, Source: s.source, Content: s.release.Spec.Source, MaxAge: maxAge(s), Since: s.request.at()}
	if pin := s.release.Spec.Pin; pin != nil {
		s.want.Revision = pin.Revision
	}
	found, err := c.resolve(ctx, s.release, s.want)
	if err != nil {
		return c.withoutSource(ctx, s, stepRevision, s.sourceName()+" is being asked for the revision", err)
	}
	s.revision = found.revision
	if found.checkedAt.IsZero() {
		found.checkedAt = s.now // nothing had to be asked
	}
	s.look = s.lookOf(found)
	c.questions.looks.keep(s.key, s.look, false)
	if s.want.Revision == "" {
		// A little later, so that the look at this time is old enough to be made again.
		s.wakeIn(untilFrom(found.checkedAt, interval(s.release), s.now) + time.Second)
	}
	c.noteRevision(s, found.checkedAt)
	if found.revision != s.applied().Revision {
		c.sightings.saw(s.key, found.revision, s.now)
	}
	return next()
}

func (c *Controller) noteRevision(s *scope, checkedAt time.Time) {
	status := &corev1alpha1.SourceStatus{Revision: s.revision, CheckedAt: &metav1.Time{Time: checkedAt}}
	if old := s.before.Source; old != nil && old.Revision == s.revision {
		status.Digest = old.Digest
	}
	s.release.Status.Source = status
}

// findSource sets the scope's source.
func (c *Controller) findSource(s *scope) outcome {
	reference, ok := sources.ReferenceOf(s.release.Spec.Source)
	if !ok {
		return stuck(corev1alpha1.ConditionSourceReady, corev1alpha1.ReasonInvalidConfiguration, sources.ErrNoSource.Error())
	}
	source, err := c.config.Sources.Find(s.key.Namespace, reference)
	if apierrors.IsNotFound(err) {
		return wait(corev1alpha1.ConditionSourceReady, corev1alpha1.ReasonSourceNotFound,
			fmt.Sprintf("%s does not exist in namespace %s: create it, or change spec.source", reference, s.key.Namespace))
	}
	if err != nil {
		return fail(corev1alpha1.ConditionSourceReady, corev1alpha1.ReasonFetchFailed, err)
	}
	if fetch.Suspended(source) {
		return wait(corev1alpha1.ConditionSourceReady, corev1alpha1.ReasonSourceSuspended,
			fmt.Sprintf("%s is suspended: nothing is taken from it until its spec.suspend is false", reference))
	}
	s.source = source
	return next()
}

// freshAge is how old a look may be when something gives reason to look: old enough for
// one look to serve many Releases that change at once.
const freshAge = 10 * time.Second

// maxAge is how old the look at a moving reference may be: an interval; next to nothing
// when the spec is new, or when the last attempt failed, which a new revision may mend;
// and younger than the request for a sync.
func maxAge(s *scope) time.Duration {
	age := interval(s.release)
	failed := s.before.Sync != nil && s.before.Sync.Attempts > 0
	if failed || s.before.Source == nil || s.before.ObservedGeneration != s.release.Generation {
		age = min(age, freshAge)
	}
	if requested, ok := s.request.age(s.now); ok {
		age = min(age, requested)
	}
	return age
}

// short gives a revision for messages: the digits of a commit or digest are cut to as many
// as tell it from others.
func short(revision string) string {
	at := strings.LastIndex(revision, ":")
	const digits = 12
	if at < 0 || len(revision)-at-1 <= digits {
		return revision
	}
	return revision[:at+1+digits]
}
