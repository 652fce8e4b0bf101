// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"sync"
)

// tier is a class of answers, by what they take in memory: each takes a place from where the
// tier begins.
type tier struct {
	from                       int64
	target, namespace, process int // how many places each has
}

// Most answers need no place: there are no more of them than requests under way. Places are
// limited for a target, for the Clusters of a namespace, which have half, and for all that one Connector
// reaches, which is the process. All together, answers take 1.4 GiB.
//
// Whoever has a place of the last tier waits for nothing any more, so that those of the tiers
// before it do not wait for one another.
var tiers = []tier{
	{from: 1 << 20, target: 4, namespace: 8, process: 16},            // up to 64 MiB each
	{from: maxObject * perByte, target: 1, namespace: 1, process: 2}, // up to 192 MiB more
}

// places is a semaphore.
type places chan struct{}

// room is the places that an answer of a target needs, by tier. They are taken in this order:
// the target's, that of its namespace, that of the process.
type room [][]places

// building makes the rooms of targets, and has the places that they share.
type building struct {
	mu         sync.Mutex
	process    []places // by tier
	namespaces map[string][]places
}

func newBuilding() *building {
	return &building{
		process:    placesOf(func(t tier) int { return t.process }),
		namespaces: map[string][]places{},
	}
}

func placesOf(number func(tier) int) []places {
	var all []places
	for _, t := range tiers {
		all = append(all, make(places, number(t)))
	}
	return all
}

// room makes that of a target.
func (b *building) room(namespace string) room {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.namespaces[namespace] == nil {
		b.namespaces[namespace] = placesOf(func(t tier) int { return t.namespace })
	}
	target := placesOf(func(t tier) int { return t.target })
	r := make(room, len(tiers))
	for i := range tiers {
		r[i] = []places{target[i], b.namespaces[namespace][i], b.process[i]}
	}
	return r
}

// hold is what one answer has of a room. It is closed by whom it pleases; all else is done by one
// goroutine at a time.
type hold struct {
	room room
	tier int // the first it has no place of

	mu     sync.Mutex
	taken  []places
	closed bool
}

// wants tells that an answer of a weight needs another place.
func (h *hold) wants(weight int64) bool { return h.tier < len(tiers) && weight > tiers[h.tier].from }

// grow waits until there are the places that an answer of a weight needs. The error is that of
// ctx.
func (h *hold) grow(ctx context.Context, weight int64) error {
	for ; h.wants(weight); h.tier++ {
		for _, p := range h.room[h.tier] {
			select {
			case p <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			if !h.keep(p) {
				return context.Canceled
			}
		}
	}
	return nil
}

// keep notes a place that was taken; false when it is not needed any more.
func (h *hold) keep(p places) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		<-p
		return false
	}
	h.taken = append(h.taken, p)
	return true
}

// release gives all places back.
func (h *hold) release() {
	h.tier = 0
	h.mu.Lock()
	defer h.mu.Unlock()
	giveBack(h.taken)
	h.taken = nil
}

// close has no more places taken, and gives the function that gives back what there are, nil when
// there are none.
func (h *hold) close() (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken := h.taken
	h.taken, h.closed = nil, true
	if len(taken) == 0 {
		return nil
	}
	return func() { giveBack(taken) }
}

func giveBack(taken []places) {
	for _, p := range taken {
		<-p
	}
}
