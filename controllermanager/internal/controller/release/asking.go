// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/content"
	"kumodo.io/convoy/controllermanager/internal/errands"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/sources"
)

// questions are put to sources without holding passes up: they are errands of the Release whose pass wants
// to know.
type questions struct {
	// patience of each pass.
	patience time.Duration
	looks    looks
}

// contentID tells apart what is wanted of sources, as far as the specs say it.
type contentID struct {
	release          types.NamespacedName // whose content it is; not always the one whose pass it is
	uid              types.UID
	generation       int64
	source           types.UID
	sourceGeneration int64
}

// questionID tells questions apart: one whose answer would not do any more is another one.
type questionID struct {
	content contentID
	// revision is what is pinned, or what is fetched if fetch is true.
	revision string
	fetch    bool
	// since is of the want, in nanoseconds.
	since int64
	// references is the state of the Secrets among others, which the source may want.
	references string
}

func contentOf(release *corev1alpha1.Release, want fetch.Want) contentID {
	id := contentID{release: nameOf(release), uid: release.UID, generation: release.Generation}
	if source, ok := want.Source.(sources.Object); ok {
		id.source, id.sourceGeneration = source.GetUID(), source.GetGeneration()
	}
	return id
}

func questionOf(ctx context.Context, release *corev1alpha1.Release, want fetch.Want) questionID {
	id := questionID{content: contentOf(release, want), revision: want.Revision}
	if !want.Since.IsZero() {
		id.since = want.Since.UnixNano()
	}
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		id.references = s.references
	}
	return id
}

// answer is the revision that is wanted now, and when the source was asked for it.
type answer struct {
	revision  string
	checkedAt time.Time
}

// resolve asks what revision of a source is wanted for a Release now. It gives errUnfinished when
// that takes longer than a pass waits.
func (c *Controller) resolve(ctx context.Context, release *corev1alpha1.Release, want fetch.Want) (answer, error) {
	return errands.Do(ctx, errands.Errand[answer]{
		ID: questionOf(ctx, release, want), Patience: c.questions.patience, Pending: "its source is still being asked",
		Do: func(ctx context.Context) (a answer, err error) {
			a.revision, a.checkedAt, err = c.config.Fetcher.Resolve(ctx, want)
			return a, err
		},
	})
}

// fetch gets the content of a revision for a Release. It gives errUnfinished when that takes longer
// than a pass waits. The coordinator fetches it once for all Releases of the process that want it.
func (c *Controller) fetch(ctx context.Context, release *corev1alpha1.Release, want fetch.Want, revision string) (*fetch.Artifact, error) {
	id := questionOf(ctx, release, want)
	id.revision, id.fetch = revision, true
	return errands.Do(ctx, errands.Errand[*fetch.Artifact]{
		ID: id, Patience: c.questions.patience, Pending: "its content is still being fetched",
		Do: func(ctx context.Context) (*fetch.Artifact, error) { return c.config.Fetcher.Fetch(ctx, want, revision) },
	})
}

// looks remember of each Release the last look at its source, and the last one that the content was
// had of. What is lost with the process is looked at again.
type looks struct {
	mu sync.Mutex
	of map[types.NamespacedName]lastLooks
}

// lastLooks are the last look, the last one that no peer was to act on first, and the last one that
// the content was had of.
type lastLooks struct{ found, passed, had look }

type look struct {
	content contentID
	pin     string
	request string // that the look was made for
	answer
}

// keep notes a look, and that the content was had, if it was.
func (l *looks) keep(release types.NamespacedName, found look, had bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[types.NamespacedName]lastLooks{}
	}
	last := l.of[release]
	if last.found = found; had {
		last.had = found
	}
	l.of[release] = last
}

func (l *looks) last(release types.NamespacedName) lastLooks {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[release]
}

// pass notes that no peer is to act on a look first.
func (l *looks) pass(release types.NamespacedName, found look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.of[release]; ok {
		last.passed = found
		l.of[release] = last
	}
}

// passed tells whether no peer is to act first on what a look has found.
func (l *looks) passed(release types.NamespacedName, found look) bool {
	passed := l.last(release).passed
	passed.checkedAt = found.checkedAt
	return passed == found
}

// retain forgets the looks of all Releases but those that keep tells, which others may bring on.
func (l *looks) retain(keep func(release types.NamespacedName) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.of, func(release types.NamespacedName, _ lastLooks) bool { return !keep(release) })
}

func (l *looks) forget(release types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, release)
}

// lookOf is the look that the pass acts on.
func (s *scope) lookOf(found answer) look {
	return look{content: contentOf(s.release, s.want), pin: s.want.Revision, request: s.request.mark(), answer: found}
}

// goesOnWithout has the pass go on with what the last look found, because there is no newer one
// yet: the question whether there is something newer holds up nothing that is known. A request
// for a sync is not answered with a look from before, nor is a change of the spec or the source.
func (c *Controller) goesOnWithout(s *scope) bool {
	if s.oldLook {
		return false // there is nothing older
	}
	last := c.questions.looks.last(s.key).had
	if !s.isOf(last) {
		return false
	}
	s.oldLook, s.revision = true, last.revision
	c.noteRevision(s, last.checkedAt)
	return true
}

// goesOnWithFound has the pass go on with what the last look found, though its content was not had
// yet: what is being fetched would be given up if nobody wanted it.
func (c *Controller) goesOnWithFound(s *scope) bool {
	last := c.questions.looks.last(s.key)
	if last.found == last.had || !s.isOf(last.found) {
		return false
	}
	s.look, s.revision = last.found, last.found.revision
	c.noteRevision(s, last.found.checkedAt)
	return true
}

// isOf tells whether a look is one at what is wanted now.
func (s *scope) isOf(last look) bool {
	wanted := s.lookOf(last.answer)
	if !s.request.pending() {
		wanted.request = last.request
	}
	return last.revision != "" && last == wanted
}

// saysOfSource tells whether a condition says what came of asking the source: not that it is being
// asked, nor why it could not be until now.
func saysOfSource(known *metav1.Condition) bool {
	return known.Status != metav1.ConditionUnknown &&
		known.Reason != corev1alpha1.ReasonSourceNotFound && known.Reason != corev1alpha1.ReasonSourceSuspended
}

// withoutSource goes on with what is known when the source has not told something newer yet, or
// cannot be reached. The latter remains trouble.
func (c *Controller) withoutSource(ctx context.Context, s *scope, step, what string, err error) outcome {
	if errors.Is(err, errUnfinished) {
		if !(step == stepRevision && c.goesOnWithFound(s)) && !c.goesOnWithout(s) {
			return s.awaitsSource(step, what, err)
		}
		if again := s.attempt; again != nil && (again.name == stepRevision || again.name == stepArtifact) {
			s.trouble = &outcome{kind: rests, step: step, attempt: step} // it is being tried again
		}
		return next()
	}
	failed := fail(corev1alpha1.ConditionSourceReady, content.Reason(err), err)
	failed.step, failed.attempt = step, step
	failed.inputs, failed.within = fingerprint(s), interval(s.release)
	s.wakeIn(failed.within) // also when it is no attempt that is counted
	if !passes(ctx, err) || !c.goesOnWithout(s) {
		return failed
	}
	s.setCondition(failed)
	s.trouble = &failed
	return next()
}

// troubled gives how a pass ended that went on in spite of trouble with the source. A failure of
// something else is more, and what is waited for is not to be forgotten over it.
func (s *scope) troubled(out outcome) outcome {
	switch {
	case s.trouble == nil:
	case out.kind == completes:
		return *s.trouble
	case out.kind == waits && s.trouble.kind == fails:
		s.wakeIn(longestSoon)
	}
	return out
}

// sourceName names the source in messages.
func (s *scope) sourceName() string {
	reference, _ := sources.ReferenceOf(s.release.Spec.Source)
	return reference.String()
}

// quietAsking is how long the conditions of a Release that a sync is requested of do not tell that
// its source is being asked: they say what is known so far.
const quietAsking = 10 * time.Second

// awaitsSource ends a pass that does not wait for a source, which is being asked for what.
// SourceReady says so when it is not known yet, or a person waits for it; else it says what it said
// until there is an answer or a failure.
func (s *scope) awaitsSource(step, what string, err error) outcome {
	out := outcome{kind: rests}
	if again := s.attempt; again != nil && again.name == step && again.inputs == fingerprint(s) {
		out.silent = true // the next attempt is no news
		return out
	}
	since := sinceOf(err)
	known := meta.FindStatusCondition(s.release.Status.Conditions, corev1alpha1.ConditionSourceReady)
	if known != nil && known.ObservedGeneration == s.release.Generation && saysOfSource(known) {
		if !s.request.pending() {
			return out
		}
		if out.after = untilFrom(since, quietAsking, s.now); out.after > 0 {
			return out
		}
	}
	s.set(corev1alpha1.ConditionSourceReady, metav1.ConditionUnknown, corev1alpha1.ReasonProgressing,
		fmt.Sprintf("%s, or waits for its turn, since %s", what, since.UTC().Format(time.RFC3339)), s.release.Generation)
	return out
}
