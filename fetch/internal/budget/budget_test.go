// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/fault"
)

const mib = 1 << 20

// taker takes bytes for a Hold, in the background where it has to wait.
type taker struct {
	*Hold
	ctx context.Context
}

func newTaker(t *testing.T, b *Budget, host string) *taker {
	ctx, h := b.Open(t.Context(), "", host, time.Hour)
	return &taker{Hold: h, ctx: ctx}
}

// takes gives what Take came to; nothing for as long as it waits.
func (t *taker) takes(bytes int64) <-chan error {
	done := make(chan error, 1)
	go func() { done <- Take(t.ctx, bytes) }()
	return done
}

// waits takes what there is no room for.
func (t *taker) waits(g *WithT, bytes int64) <-chan error {
	before := t.budget.waiting()
	done := t.takes(bytes)
	g.Eventually(t.budget.waiting).Should(Equal(before + 1))
	return done
}

func (b *Budget) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.line)
}

func TestWhatAllHoldTogetherIsBounded(t *testing.T) {
	g := NewWithT(t)
	b := New(8 * mib)
	first, second, third := newTaker(t, b, "a"), newTaker(t, b, "b"), newTaker(t, b, "c")
	g.Expect(Take(first.ctx, 4*mib)).To(Succeed())
	g.Expect(Take(second.ctx, 2*mib)).To(Succeed())
	// One goes on without room, the others wait.
	g.Expect(Take(second.ctx, 4*mib)).To(Succeed())
	g.Expect(Take(second.ctx, 40*mib)).To(Succeed())
	more, other := first.waits(g, mib), third.waits(g, mib)
	g.Expect(b.Used()).To(BeNumerically("~", 50*mib, 2*free))
	second.Close()
	g.Eventually(more).Should(Receive(Succeed()), "the first of those who wait goes on")
	g.Eventually(other).Should(Receive(Succeed()), "and who has room beside it")
	first.Close()
	third.Close()
	g.Expect(b.Used()).To(BeZero())
	g.Expect(b.hosts).To(BeEmpty())
	g.Expect(b.alone).To(BeNil())
}

func TestAHostLeavesRoomToOthers(t *testing.T) {
	g := NewWithT(t)
	b := New(8 * mib)
	for range 2 {
		g.Expect(Take(newTaker(t, b, "hung").ctx, 2*mib)).To(Succeed())
	}
	g.Expect(Take(newTaker(t, b, "hung").ctx, 2*mib)).To(Succeed(), "one at a time goes on")
	newTaker(t, b, "hung").waits(g, 2*mib)
	g.Expect(Take(newTaker(t, b, "fine").ctx, mib)).To(Succeed())
}

func TestALittleIsFree(t *testing.T) {
	g := NewWithT(t)
	b := New(mib)
	g.Expect(Take(newTaker(t, b, "a").ctx, 2*mib)).To(Succeed())
	newTaker(t, b, "b").waits(g, 2*mib)
	for host := range 100 {
		g.Expect(Take(newTaker(t, b, fmt.Sprint(host)).ctx, free)).To(Succeed())
	}
}

func TestWhoDoesNotWaitAnyMoreLeavesTheLine(t *testing.T) {
	g := NewWithT(t)
	b := New(mib)
	holder := newTaker(t, b, "a")
	g.Expect(Take(holder.ctx, 4*mib)).To(Succeed())
	gone := newTaker(t, b, "b")
	var cancel context.CancelFunc
	gone.ctx, cancel = context.WithCancel(gone.ctx)
	began, ended := 0, 0
	gone.ctx = WithWaiting(gone.ctx, func() func() { began++; return func() { ended++ } })
	done := gone.waits(g, mib)
	cancel()
	var err error
	g.Eventually(done).Should(Receive(&err))
	g.Expect(errors.Is(err, context.Canceled)).To(BeTrue(), "%v", err)
	g.Expect([]int{began, ended, b.waiting()}).To(Equal([]int{1, 1, 0}))
	gone.Close()
	holder.Close()
	g.Expect(b.Used()).To(BeZero())
	g.Expect(errors.Is(Take(gone.ctx, 0), context.Canceled)).To(BeTrue(), "an ended context ends what only takes")
}

func TestMarkGivesBack(t *testing.T) {
	g := NewWithT(t)
	b := New(8 * mib)
	h := newTaker(t, b, "a")
	g.Expect(Take(h.ctx, mib)).To(Succeed())
	giveBack := Mark(h.ctx)
	g.Expect(Take(h.ctx, 2*mib)).To(Succeed())
	giveBack()
	giveBack()
	g.Expect(b.Used()).To(BeEquivalentTo(mib - free))
	Mark(t.Context())()
	g.Expect(Take(t.Context(), 100*mib)).To(Succeed(), "who shares nothing takes nothing")
}

func TestReaderTakesWhatComes(t *testing.T) {
	g := NewWithT(t)
	b := New(8 * mib)
	h := newTaker(t, b, "a")
	n, err := io.Copy(io.Discard, Reader(h.ctx, bytes.NewReader(make([]byte, 3*mib)), 2*mib))
	g.Expect(n, err).To(BeEquivalentTo(3 * mib))
	g.Expect(b.Used()).To(BeEquivalentTo(2*mib - free))
}

// TestNobodyWaitsForEver has one that is held up for as long as it may wait, in two times.
func TestNobodyWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := New(mib)
		ctx, h := b.Open(t.Context(), "", "waits", 20*time.Second)
		defer h.Close()
		for range 2 {
			other := newTaker(t, b, "other")
			g.Expect(Take(other.ctx, 4*mib)).To(Succeed())
			done := (&taker{Hold: h, ctx: ctx}).takes(mib)
			time.Sleep(15 * time.Second)
			other.Close()
			synctest.Wait()
			if ctx.Err() == nil {
				g.Expect(done).To(Receive(Succeed()))
				h.giveBack(0)
				continue
			}
			g.Expect(done).To(Receive(MatchError(context.Canceled)))
		}
		g.Expect(context.Cause(ctx)).To(MatchError(ContainSubstring("waited for room in the memory of this process")))
		g.Expect(context.Cause(ctx)).To(MatchError(ContainSubstring("--artifact-cache-bytes")))
		g.Expect(errors.Is(context.Cause(ctx), fault.ErrUnreachable)).To(BeTrue())
		g.Expect(b.waiting()).To(BeZero())
	})
}

// TestPatienceEndsWithTheWait for room, and not with what comes after it, such as the wait for a turn.
func TestPatienceEndsWithTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := New(mib)
		ctx, h := b.Open(t.Context(), "", "waits", 20*time.Second)
		defer h.Close()
		ctx = WithWaiting(ctx, func() (ended func()) { return func() { time.Sleep(time.Minute) } })
		other := newTaker(t, b, "other")
		g.Expect(Take(other.ctx, 4*mib)).To(Succeed())
		done := (&taker{Hold: h, ctx: ctx}).takes(mib)
		time.Sleep(15 * time.Second)
		other.Close()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		g.Expect(done).To(Receive(Succeed()))
		g.Expect(ctx.Err()).NotTo(HaveOccurred())
		g.Expect(h.waited).To(Equal(15 * time.Second))
	})
}

// TestWhoGoesOnAloneDoesNotKeepOthersWaitingForEver unless there are none.
func TestWhoGoesOnAloneDoesNotKeepOthersWaitingForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := New(mib)
		first, second := newTaker(t, b, "first"), newTaker(t, b, "second")
		g.Expect(Take(first.ctx, 4*mib)).To(Succeed())
		time.Sleep(2 * longest)
		g.Expect(first.ctx.Err()).NotTo(HaveOccurred())

		gone, cancel := context.WithTimeout(second.ctx, longest/2)
		defer cancel()
		g.Expect(Take(gone, 4*mib)).NotTo(Succeed())
		time.Sleep(longest)
		g.Expect(first.ctx.Err()).NotTo(HaveOccurred(), "nobody waits any more")

		began := time.Now()
		done := second.takes(4 * mib)
		<-first.ctx.Done()
		g.Expect(time.Since(began)).To(Equal(longest))
		g.Expect(context.Cause(first.ctx)).To(MatchError(ContainSubstring("--artifact-cache-bytes")))
		first.Close()
		g.Expect(<-done).To(Succeed())
		time.Sleep(2 * longest)
		g.Expect(second.ctx.Err()).NotTo(HaveOccurred())
		second.Close()
		g.Expect(b.contention.looking).To(BeNil())
		g.Expect(b.Used()).To(BeZero())
	})
}

// TestNobodyStandsStill has many who each take up to three times the whole budget, bit by bit.
func TestNobodyStandsStill(t *testing.T) {
	g := NewWithT(t)
	const most = 3 * mib
	b := New(mib)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			h := newTaker(t, b, fmt.Sprint("host", i%7))
			defer h.Close()
			for held := int64(0); held < most; {
				n := min(rand.Int64N(mib/2)+1, most-held)
				if err := Take(h.ctx, n); err != nil {
					t.Error(err)
					return
				}
				held += n
				if used := b.Used(); used > mib+most {
					t.Errorf("%d bytes are held", used)
				}
			}
		})
	}
	all.Wait()
	g.Expect(b.Used()).To(BeZero())
	g.Expect(b.waiting()).To(BeZero())
	g.Expect(b.hosts).To(BeEmpty())
}
