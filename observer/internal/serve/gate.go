// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// concurrentRenders bounds the answers with a render, or with the values for one, that
	// are in work at a time. Each holds what is rendered, and the answer as far as it is made.
	concurrentRenders = 8
	// concurrentReports bounds those that read objects one by one and keep none.
	concurrentReports = 32
	// maxWaiting is how many different questions wait for their turn.
	maxWaiting = 512
	// maxWaitingOfOne is how many of them are of one user, or about one Cluster.
	maxWaitingOfOne = maxWaiting / 2
	// unreadRenders and unreadReports are how many bytes of answers are kept for clients that
	// have yet to read them.
	unreadRenders, unreadReports = 128 << 20, 64 << 20
	// smallAnswer is how many bytes an answer may have that counts for none of that.
	smallAnswer = 64 << 10
	// retrySeconds is after how long to ask again what was refused.
	retrySeconds = 2
)

// errBusy says that an answer did not come to be worked on while it was waited for.
var errBusy = errors.New("waited for other requests to be answered")

// asker is whom a question is answered for, and what it is about.
type asker struct {
	cluster types.NamespacedName
	// user is empty where nobody says who asks.
	user string
}

// gate lets a bounded number of answers be worked on at a time; the others wait, in their
// order, as long as their requests do. Those about one Cluster take half of the places at
// most, and so do those for one user, so that one that is slow, or asks for much, leaves room
// for the others. What waits is bounded too, and is refused beyond that.
type gate struct {
	all   *semaphore.Weighted
	limit int64
	// unread is room for answers that clients have yet to read.
	unread      *semaphore.Weighted
	unreadBytes int64

	mu sync.Mutex
	// waiting and lanes are of Clusters, without a user; and of users, without a Cluster. In
	// waiting, what neither is of is all.
	waiting map[asker]int
	lanes   map[asker]*lane
}

// lane is the part of the gate for one Cluster or user. It is there while somebody uses it.
type lane struct {
	places *semaphore.Weighted
	unread *semaphore.Weighted
	users  int
}

func newGate(limit, unread int64) *gate {
	return &gate{
		all: semaphore.NewWeighted(limit), limit: limit,
		unread: semaphore.NewWeighted(unread), unreadBytes: unread, waiting: map[asker]int{}, lanes: map[asker]*lane{},
	}
}

// enter waits for a place, which leave gives back. The error is errBusy when ctx ends first,
// and one of too many requests when too many wait already.
func (g *gate) enter(ctx context.Context, who asker) (leave func(), err error) {
	if err := g.queue(who); err != nil {
		return nil, err
	}
	defer g.unqueue(who)
	byUser, err := g.pass(ctx, asker{user: who.user}, "for one user")
	if err != nil {
		return nil, err
	}
	byCluster, err := g.pass(ctx, asker{cluster: who.cluster}, "of Cluster "+who.cluster.Name)
	if err != nil {
		byUser()
		return nil, err
	}
	if err := g.all.Acquire(ctx, 1); err != nil {
		byCluster()
		byUser()
		return nil, fmt.Errorf("%w: %d are worked on at a time; ask again later", errBusy, g.limit)
	}
	return func() {
		g.all.Release(1)
		byCluster()
		byUser()
	}, nil
}

// queue counts who is about to wait.
func (g *gate) queue(who asker) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.waiting[asker{}] >= maxWaiting:
		return tooMany("%d questions wait for their turn already", maxWaiting)
	case g.waiting[asker{cluster: who.cluster}] >= maxWaitingOfOne:
		return tooMany("%d questions about Cluster %s wait for their turn already", maxWaitingOfOne, who.cluster.Name)
	case who.user != "" && g.waiting[asker{user: who.user}] >= maxWaitingOfOne:
		return tooMany("%d questions of one user wait for their turn already", maxWaitingOfOne)
	}
	for _, one := range counted(who) {
		g.waiting[one]++
	}
	return nil
}

func (g *gate) unqueue(who asker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range counted(who) {
		if g.waiting[one]--; g.waiting[one] == 0 {
			delete(g.waiting, one)
		}
	}
}

// counted is what who waits counts for.
func counted(who asker) []asker {
	all := []asker{{}, {cluster: who.cluster}}
	if who.user != "" {
		all = append(all, asker{user: who.user})
	}
	return all
}

// pass waits for a place in a lane; the empty one, of nobody, has any number.
func (g *gate) pass(ctx context.Context, of asker, whose string) (leave func(), err error) {
	if of == (asker{}) {
		return func() {}, nil
	}
	own := g.use(of)
	if err := own.places.Acquire(ctx, 1); err != nil {
		g.unuse(of)
		return nil, fmt.Errorf("%w: %d %s are worked on at a time; ask again later", errBusy, g.limit/2, whose)
	}
	return func() {
		own.places.Release(1)
		g.unuse(of)
	}, nil
}

// hold waits for room for an answer that was made and that clients are yet to read, and keeps
// it until drop is called.
func (g *gate) hold(ctx context.Context, user string, size int) (drop func(), err error) {
	if size <= smallAnswer {
		return func() {}, nil
	}
	n := min(int64(size), g.unreadBytes/2)
	of := asker{user: user}
	own := g.use(of)
	err = own.unread.Acquire(ctx, n)
	if err == nil {
		if err = g.unread.Acquire(ctx, n); err != nil {
			own.unread.Release(n)
		}
	}
	if err != nil {
		g.unuse(of)
		return nil, fmt.Errorf("%w: other answers have yet to be read by those who asked; ask again later", errBusy)
	}
	return func() {
		g.unread.Release(n)
		own.unread.Release(n)
		g.unuse(of)
	}, nil
}

func (g *gate) use(of asker) *lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.lanes[of]
	if own == nil {
		bytes := g.unreadBytes
		if of.user != "" {
			bytes /= 2
		}
		own = &lane{places: semaphore.NewWeighted(g.limit / 2), unread: semaphore.NewWeighted(bytes)}
		g.lanes[of] = own
	}
	own.users++
	return own
}

func (g *gate) unuse(of asker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.lanes[of]
	if own.users--; own.users == 0 {
		delete(g.lanes, of)
	}
}

// tooMany refuses what asks for too much.
func tooMany(format string, args ...any) error {
	return apierrors.NewTooManyRequests(fmt.Sprintf(format, args...)+"; ask again later", retrySeconds)
}
