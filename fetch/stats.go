// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"sync/atomic"
)

// Stats counts since the start, except for the last seven, which tell of now.
type Stats struct {
	// Fetches of content, and Questions about references, indexes and tags, that went to a
	// source; failed ones count.
	Fetches, Questions int64
	// Hits were answered from memory, Shared by waiting for what another was doing.
	Hits, Shared int64
	// Evicted artifacts were forgotten because others needed their room.
	Evicted int64
	// Kinds are the same by the kind of the source: GitRepository, HelmRegistry, OCIRegistry.
	Kinds map[string]KindStats
	// Running operations on the network, of which MaxConcurrent are allowed; not those that
	// wait for something to come.
	Running int
	// Waiting callers.
	Waiting int
	// Artifacts held in the cache, and their Bytes, of which CacheBytes are allowed.
	Artifacts int
	Bytes     int64
	// TakingBytes are held of what is being taken in, of which CacheBytes are allowed, and one
	// artifact or index beyond them.
	TakingBytes int64
	// AnswerBytes are held to answer questions from memory.
	AnswerBytes int64
}

// KindStats counts what was done with sources of one kind since the start.
type KindStats struct {
	Fetches, Questions int64
	// Received bytes, as they came over the network.
	Received int64
	// Failures of operations on the network by their reasons; every reason is there.
	Failures map[string]int64
}

// reasons are the failures that are told apart, the first that fits.
var reasons = []struct {
	name string
	kind error
}{
	{"verification", ErrVerification}, {"timeout", context.DeadlineExceeded}, {"unreachable", ErrUnreachable},
	{"unauthorized", ErrUnauthorized}, {"notFound", ErrNotFound}, {"limit", ErrLimit}, {"content", ErrContent},
	{"secret", ErrSecret}, {"invalid", ErrInvalid}, {"other", nil},
}

// counts are the counters of one kind of source.
type counts struct {
	fetches, questions, received atomic.Int64
	failures                     []atomic.Int64
}

func newCounts() map[string]*counts {
	all := map[string]*counts{}
	for _, kind := range []string{"GitRepository", "HelmRegistry", "OCIRegistry"} {
		all[kind] = &counts{failures: make([]atomic.Int64, len(reasons))}
	}
	return all
}

func (c *counts) failed(err error) {
	for i, reason := range reasons {
		if reason.kind == nil || errors.Is(err, reason.kind) {
			c.failures[i].Add(1)
			return
		}
	}
}

func (c *counts) stats() KindStats {
	s := KindStats{Fetches: c.fetches.Load(), Questions: c.questions.Load(), Received: c.received.Load(), Failures: map[string]int64{}}
	for i, reason := range reasons {
		s.Failures[reason.name] = c.failures[i].Load()
	}
	return s
}

// Stats returns what was counted so far.
func (c *Coordinator) Stats() Stats {
	s := Stats{Hits: c.hits.Load(), Shared: c.shared.Load(), Running: c.slots.running(), Kinds: map[string]KindStats{}}
	for kind, counts := range c.counts {
		s.Kinds[kind] = counts.stats()
		s.Fetches += s.Kinds[kind].Fetches
		s.Questions += s.Kinds[kind].Questions
	}
	s.Waiting = c.asks.waiting() + c.fetches.waiting()
	s.Artifacts, s.Bytes = c.store.Usage()
	s.Evicted = c.store.Evicted()
	s.TakingBytes = c.taken.Used()
	s.AnswerBytes = c.answers.bytes()
	return s
}
