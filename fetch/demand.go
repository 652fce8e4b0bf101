// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"time"

	"kumodo.io/convoy/fetch/internal/fault"
)

const (
	// failureAge is how long a failure, or an answer that does not suffice, stands before
	// the source is asked again.
	failureAge = 15 * time.Second
	// contentFailureAge is the same for content that is unusable: a revision is immutable,
	// so only a change of our limits or of the source's storage can help.
	contentFailureAge = 10 * time.Minute
	// insistAge is the MaxAge below which somebody is taken to know of such a change, or that
	// a host is well again: only
	// a request that was just made asks for something so young, and tries that are repeated
	// by themselves do not.
	insistAge = 10 * time.Second
)

// demand is how young what a caller is told has to be.
type demand struct {
	made   time.Time
	maxAge time.Duration
	// since is when the source may have been asked at the earliest; zero: at any time that
	// maxAge allows.
	since time.Time
	// waited says that the caller has waited for something that was under way, so that
	// what is remembered may have been found out since the demand was made.
	waited bool
}

func (c *Coordinator) demand(maxAge time.Duration, since time.Time) demand {
	now := c.options.Clock.Now()
	if since.After(now) { // by another machine's clock
		since = now
	}
	return demand{made: now, maxAge: maxAge, since: since}
}

// met says whether an answer, or a failure, is young enough and was asked for late enough.
func (d demand) met(kept answer) bool {
	return d.meets(kept.at) && !kept.asked.Before(d.since)
}

// meets says whether what was so at a time is young enough. Who asks now takes nothing
// that was found out before.
func (d demand) meets(at time.Time) bool {
	if d.maxAge == 0 && !d.waited {
		return false
	}
	return !at.Before(d.made.Add(-d.maxAge))
}

// bears says whether the caller is given a remembered failure, or an answer that does not
// suffice, once more.
func (d demand) bears(kept answer, now time.Time) bool {
	if !now.Before(kept.until) || kept.asked.Before(d.since) {
		return false
	}
	return d.meets(kept.at) || (kept.host || isContent(kept.err)) && d.maxAge >= insistAge
}

// isContent says whether an error is about content, which trying again does not change.
func isContent(err error) bool {
	kind := fault.Kind(err)
	return kind == ErrContent || kind == ErrLimit
}
