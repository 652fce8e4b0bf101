// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// asker is whom a question is answered for, and what it is about.
type asker struct {
	cluster types.NamespacedName
	// user is empty where nobody says who asks.
	user string
}

// lanes are those that somebody is in: of all, of the Cluster, of the user, and of the user
// about that Cluster.
func (a asker) lanes() []asker {
	all := []asker{{}}
	for _, of := range []asker{{cluster: a.cluster}, {user: a.user}, a} {
		if !slices.Contains(all, of) {
			all = append(all, of)
		}
	}
	return all
}

// turn is the lane that somebody takes turns as: the user's, else the Cluster's.
func (a asker) turn() asker {
	if a.user != "" {
		return asker{user: a.user}
	}
	return asker{cluster: a.cluster}
}

// room is what there is a bounded amount of: places to work in, or bytes. One user has half of
// it at most, and so has one Cluster, and a user a quarter for questions about one Cluster, so
// that one that is slow, or asks for much, leaves room for the others. The next to get some is
// the user who has the least; of those who have as much, the one who got some, or came, the
// longest ago.
type room struct {
	size int64
	// waits is how many claims may wait; 0 is any number.
	waits int

	mu    sync.Mutex
	line  []*claim // that wait to be given what they claim
	lanes map[asker]*lane
	came  int64 // how many have joined so far
	given int64 // how many claims were given something so far
}

// lane is the part of a room of one of those that share it. It is there while it is used.
type lane struct {
	held    int64
	waiting int
	last    int64 // how many claims had been given something when it was last its turn, or it came
}

func newRoom(size int64, waits int) *room {
	return &room{size: size, waits: waits, lanes: map[asker]*lane{}}
}

// bound is how much of a room a lane has at most.
func (r *room) bound(of asker) int64 {
	switch {
	case of == asker{}:
		return r.size
	case of.user != "" && of.cluster != (types.NamespacedName{}):
		return max(r.size/4, 1)
	}
	return max(r.size/2, 1)
}

// The methods below are for who holds mu.

// waiting is how many claims wait in a lane.
func (r *room) waiting(of asker) int {
	if l := r.lanes[of]; l != nil {
		return l.waiting
	}
	return 0
}

// held is how much of the room a lane has.
func (r *room) held(of asker) int64 {
	if l := r.lanes[of]; l != nil {
		return l.held
	}
	return 0
}

// change counts what waits in a lane, and what it has.
func (r *room) change(of asker, waiting int, held int64) {
	l := r.lanes[of]
	if l == nil {
		l = &lane{last: r.given}
		r.lanes[of] = l
	}
	l.waiting += waiting
	l.held += held
	if l.waiting == 0 && l.held == 0 {
		delete(r.lanes, of)
	}
}

// admit tells whether a claim may wait for somebody. A Cluster has half of the line. Nobody,
// and no Cluster, has more in it than there is room for yet, so that the first to come has half
// of it at most, the next a quarter, and what becomes free in a full one is for who has nothing
// in it.
func (r *room) admit(c *claim, who asker) error {
	if r.waits == 0 {
		return nil
	}
	all, cluster, user := asker{}, asker{cluster: who.cluster}, asker{user: who.user}
	left, leftOfCluster := r.waits-r.waiting(all), r.waits/2-r.waiting(cluster)
	if c.waits[all] == 0 {
		switch {
		case left <= 0:
			return tooMany("%d questions wait for their turn already", r.waiting(all))
		case leftOfCluster <= 0, r.waiting(cluster) >= left:
			return tooMany("%d questions about Cluster %s wait for their turn already", r.waiting(cluster), who.cluster.Name)
		}
	}
	switch {
	case who.user == "":
	case r.waiting(user) >= max(left, 1):
		return tooMany("%d questions of one user wait for their turn already", r.waiting(user))
	case r.waiting(who) >= max(leftOfCluster, 1):
		return tooMany("%d questions of one user about Cluster %s wait for their turn already", r.waiting(who), who.cluster.Name)
	}
	return nil
}

// give gives claims what they wait for, as long as there is enough for the next.
func (r *room) give() {
	for {
		c, to := r.next()
		if c == nil || r.held(asker{})+c.n > r.size {
			return
		}
		c.settle()
		c.hold(to)
		r.given++
		r.lanes[to.turn()].last = r.given
		close(c.got)
	}
}

// next is the claim that is given something next, and for whom; nil when nobody may have more.
func (r *room) next() (next *claim, to asker) {
	var first [3]int64
	for _, c := range r.line {
		for _, one := range c.joined {
			if r.full(c, one.asker) != (asker{}) {
				continue
			}
			turn := r.lanes[one.turn()]
			rank := [3]int64{turn.held, turn.last, one.came}
			if next == nil || slices.Compare(rank[:], first[:]) < 0 {
				next, to, first = c, one.asker, rank
			}
		}
	}
	return next, to
}

// full is the lane of somebody in which a claim has to wait; that of all when it is none of
// his own.
func (r *room) full(c *claim, who asker) asker {
	for _, of := range who.lanes()[1:] {
		if r.held(of)+c.n > r.bound(of) {
			return of
		}
	}
	return asker{}
}
