// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// lined puts one operation into the queue.
func lined(l *limiter, host string) *slot {
	return lining(l, l.slot("team", host))
}

func lining(l *limiter, s *slot) *slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, s)
	l.grant()
	return s
}

func TestWhoDoesNotWaitAnyMoreTakesNoSlot(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(2)
	first, other := l.slot("team", "a"), l.slot("team", "b")
	g.Expect(first.acquire(t.Context())).To(Succeed())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	g.Expect(l.slot("team", "a").acquire(gone)).To(MatchError(context.Canceled))
	g.Expect(l.queue).To(BeEmpty())

	g.Expect(other.acquire(t.Context())).To(Succeed())
	first.release()
	other.release()
	g.Expect(l.busy).To(BeZero())
	g.Expect(l.hosts).To(BeEmpty())
}

// A slot may be given in the moment in which it is not wanted any more.
func TestASlotThatCameTooLateIsGivenBack(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(1)
	s := lined(l, "a")
	g.Expect(l.busy).To(Equal(1))
	s.release()
	g.Expect(l.busy).To(BeZero())
	g.Expect(l.hosts).To(BeEmpty())
}

func TestSlotsAreGivenInTurn(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(2)
	running := lined(l, "a")
	g.Expect(running.turn).To(BeClosed())
	first, second, other := lined(l, "a"), lined(l, "a"), lined(l, "b")
	g.Expect(other.turn).To(BeClosed(), "a host with none passes those whose host has all that it may have")
	g.Expect(first.turn).NotTo(BeClosed())
	running.release()
	g.Expect(first.turn).To(BeClosed())
	g.Expect(second.turn).NotTo(BeClosed())
}

// TestHostsWithoutAnswerHoldNoSlots however many they are, and have a bounded share each.
func TestHostsWithoutAnswerHoldNoSlots(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(8)
	var hung []*slot
	for host := range 50 {
		began := 0
		for range 10 {
			s := lined(l, fmt.Sprint("hung", host))
			if s.begun {
				began++
				s.await()
				s.stepAside()
			}
			hung = append(hung, s)
		}
		g.Expect(began).To(Equal(4), "half of the slots")
	}
	g.Expect(l.running()).To(BeZero())
	g.Expect(l.aside).To(Equal(200))
	for range 4 {
		g.Expect(lined(l, "fine").turn).To(BeClosed())
	}
	for _, s := range hung {
		s.release()
	}
	g.Expect(l.aside).To(BeZero())
	g.Expect(l.queue).To(BeEmpty())
	g.Expect(l.busy).To(Equal(4))
}

// TestWhoStepsAside waits, whatever it has received.
func TestWhoStepsAside(t *testing.T) {
	ctx := t.Context()
	for name, tc := range map[string]struct {
		before func(s *slot)
		want   bool
	}{
		"waits":                {func(s *slot) { s.await() }, true},
		"waits for two":        {func(s *slot) { s.await()(); s.await() }, true},
		"received little":      {func(s *slot) { s.received(ctx, light); s.await() }, true},
		"received much":        {func(s *slot) { s.received(ctx, 1<<30); s.await() }, true},
		"works":                {func(*slot) {}, false},
		"works on":             {func(s *slot) { s.await()() }, false},
		"is done":              {func(s *slot) { lined(s.limiter, s.host); s.await(); s.release() }, false},
		"too many did already": {func(s *slot) { s.await(); s.limiter.aside = 4 * asidePerSlot }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLimiter(4)
			s := lined(l, "a")
			tc.before(s)
			busy := l.busy
			s.stepAside()
			NewWithT(t).Expect(s.aside).To(Equal(tc.want))
			NewWithT(t).Expect(busy-l.busy == 1).To(Equal(tc.want))
		})
	}
}

// TestWhoReceivesNeedsASlotAgain before it holds more, and has it before those who came later.
func TestWhoReceivesNeedsASlotAgain(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(1)
	s := lined(l, "a")
	s.await()
	s.stepAside()
	running, later := lined(l, "b"), lined(l, "c")
	g.Expect(running.turn).To(BeClosed())
	s.received(t.Context(), light)
	g.Expect(s.aside).To(BeTrue(), "that costs next to nothing")
	back := make(chan struct{})
	go func() {
		s.received(t.Context(), 1)
		close(back)
	}()
	queued := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.queue) == 2 && l.queue[0] == s
	}
	g.Eventually(queued).Should(BeTrue())
	g.Expect(back).NotTo(BeClosed())
	running.release()
	g.Eventually(back).Should(BeClosed())
	g.Expect(later.turn).NotTo(BeClosed())
	s.release()
	g.Expect(later.turn).To(BeClosed())
	later.release()
	g.Expect(l.busy + l.aside + l.yielded + len(l.hosts) + len(l.tenants) + len(l.queue)).To(BeZero())
}

// TestWhoLeavesAsideLeavesNothing has the time limit end while it waits to go on.
func TestWhoLeavesAsideLeavesNothing(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(1)
	s := lined(l, "a")
	s.await()
	s.stepAside()
	running := lined(l, "b")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.received(ended, light+1)
	g.Expect(l.queue).To(HaveLen(1))
	s.release()
	running.release()
	g.Expect(l.busy + l.aside + l.yielded + len(l.hosts) + len(l.tenants) + len(l.queue)).To(BeZero())
}

// TestWhoStallsAgainStepsAsideAgain after it went on.
func TestWhoStallsAgainStepsAsideAgain(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(1)
	s := lined(l, "slow")
	s.await()
	s.stepAside()
	s.received(t.Context(), 1<<20)
	g.Expect(l.running()).To(Equal(1), "it needs a slot for more")
	s.stepAside()
	g.Expect(l.running()).To(BeZero(), "and waits still")
	g.Expect(lined(l, "fine").turn).To(BeClosed())
}

// TestDripsKeepNoSlot has bytes that come one by one, each in time.
func TestDripsKeepNoSlot(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(1)
	drips, flows := l.slot("team", "drips"), l.slot("team", "flows")
	for range 10 {
		ended := drips.await()
		drips.since = drips.since.Add(-patience / 8)
		ended()
		drips.received(t.Context(), 1)
		ended = flows.await()
		flows.since = flows.since.Add(-patience / 8)
		ended()
		flows.received(t.Context(), pace)
	}
	g.Expect(drips.patience).To(BeNumerically("<", patience/8))
	g.Expect(flows.patience).To(Equal(patience))
}

// TestWhoWaitsForOthersHoldsNoSlot and has one again before it goes on.
func TestWhoWaitsForOthersHoldsNoSlot(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(1)
	s := lined(l, "a")
	goOn := s.yield(t.Context())
	other := lined(l, "b")
	g.Expect(other.turn).To(BeClosed())
	back := make(chan struct{})
	go func() {
		goOn()
		close(back)
	}()
	g.Eventually(func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.queue)
	}).Should(Equal(1))
	g.Expect(back).NotTo(BeClosed())
	other.release()
	g.Eventually(back).Should(BeClosed())
	s.release()
	g.Expect(l.busy + l.aside + l.yielded + len(l.hosts) + len(l.tenants) + len(l.queue)).To(BeZero())
}

// TestWhoWaitsForOthersHoldsUpNobodyOfItsHost however many there are.
func TestWhoWaitsForOthersHoldsUpNobodyOfItsHost(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(1)
	l.aside = l.total * asidePerSlot // no more may step aside
	var goOn []func()
	var yielded []*slot
	for range 10 {
		s := lined(l, "a")
		g.Expect(s.turn).To(BeClosed())
		yielded, goOn = append(yielded, s), append(goOn, s.yield(t.Context()))
		g.Expect(l.running()).To(BeZero())
	}
	for i, s := range yielded {
		goOn[i]()
		g.Expect(s.holds()).To(BeTrue())
		s.release()
	}
	l.aside -= l.total * asidePerSlot
	g.Expect(l.busy + l.aside + l.yielded + len(l.hosts) + len(l.tenants) + len(l.queue)).To(BeZero())
}

// TestWhatIsReadAheadTakesNoSlot of an operation that waits for others, also when it was waited
// for before.
func TestWhatIsReadAheadTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		l := newLimiter(1)
		s := lined(l, "a")
		s.await()
		s.stepAside()
		other := lined(l, "b")
		ahead := make(chan struct{})
		go func() {
			s.received(t.Context(), 1<<20)
			close(ahead)
		}()
		synctest.Wait()
		goOn := s.yield(t.Context())
		s.received(t.Context(), 1<<20)
		other.release()
		synctest.Wait()
		g.Expect(l.running()).To(BeZero())
		g.Expect(ahead).NotTo(BeClosed())
		goOn()
		<-ahead
		g.Expect(l.running()).To(Equal(1))
		s.release()
		g.Expect(l.busy + l.aside + l.yielded + len(l.hosts) + len(l.tenants) + len(l.queue)).To(BeZero())
	})
}

// TestWhoLeavesYieldedLeavesNothing has the context end before it goes on.
func TestWhoLeavesYieldedLeavesNothing(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(1)
	s := lined(l, "a")
	ended, cancel := context.WithCancel(t.Context())
	goOn := s.yield(ended)
	other := lined(l, "b")
	cancel()
	goOn()
	g.Expect(l.queue).To(HaveLen(1))
	s.release()
	other.release()
	g.Expect(l.busy + l.aside + l.yielded + len(l.hosts) + len(l.tenants) + len(l.queue)).To(BeZero())
}

// TestWhoIsJustFastEnoughDoesNotKeepASlotForEver has hosts whose streams come at the pace that keeps
// a slot.
func TestWhoIsJustFastEnoughDoesNotKeepASlotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		l := newLimiter(8)
		stop, cancel := context.WithCancel(t.Context())
		var drips sync.WaitGroup
		defer drips.Wait()
		defer cancel()
		for host := range 6 {
			for range 2 {
				drips.Go(func() {
					s := l.slot("team", fmt.Sprint("drips-", host))
					if s.acquire(stop) != nil {
						return
					}
					defer s.release()
					for stop.Err() == nil {
						ended := s.await()
						time.Sleep(patience - time.Millisecond)
						ended()
						s.received(stop, pace)
					}
				})
			}
		}
		time.Sleep(time.Second)
		ctx, end := context.WithTimeout(t.Context(), 2*slice)
		defer end()
		s := l.slot("team", "other")
		g.Expect(s.acquire(ctx)).To(Succeed())
		s.release()
	})
}

// TestTurnsGoRoundAmongTenants whether or not those who wait have begun.
func TestTurnsGoRoundAmongTenants(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(1)
	has := lining(l, l.slot("crowd", "has"))
	began := lining(l, l.slot("crowd", "has"))
	names := map[*slot]string{began: "crowd, begun"}
	for n := range 3 {
		names[lining(l, l.slot("crowd", fmt.Sprint(n)))] = "crowd"
	}
	names[lining(l, l.slot("team", "a"))] = "team"
	names[lining(l, l.slot("team", "b"))] = "team"
	names[lining(l, l.slot("other", "c"))] = "other"
	began.begun = true // as one is that stepped aside
	var turns []string
	for len(names) > 0 {
		has.release()
		for s, name := range names {
			if s.holds() && s.begun && !s.got.IsZero() {
				has = s
				turns = append(turns, name)
				delete(names, s)
				break
			}
		}
	}
	has.release()
	g.Expect(turns).To(Equal([]string{"crowd, begun", "team", "other", "crowd", "team", "crowd", "crowd"}))
	g.Expect(l.busy + len(l.hosts) + len(l.queue)).To(BeZero())
}

// TestWhoHoldsMemoryIsNotHeldUpByThoseWhoWait for the same host: others may wait for that memory.
func TestWhoHoldsMemoryIsNotHeldUpByThoseWhoWait(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(2)
	hangs := lined(l, "hangs")
	hangs.await()
	hangs.stepAside()
	next, holds := lined(l, "hangs"), l.slot("team", "hangs")
	g.Expect(next.turn).NotTo(BeClosed())
	holds.holdsMemory = true
	g.Expect(lining(l, holds).turn).To(BeClosed())
}

// TestHostsThatSendInBurstsKeepNobodyOut however many they are: what they send is just enough for another
// turn each time.
func TestHostsThatSendInBurstsKeepNobodyOut(t *testing.T) {
	for _, c := range []struct {
		tenant string
		within time.Duration
	}{{"team", 10 * time.Second}, {"crowd", 10 * slice}} {
		t.Run(c.tenant, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				l := newLimiter(8)
				stop, cancel := context.WithCancel(t.Context())
				var bursts sync.WaitGroup
				defer bursts.Wait()
				defer cancel()
				for host := range 48 {
					time.Sleep(17 * time.Millisecond)
					bursts.Go(func() {
						s := l.slot("crowd", fmt.Sprint("bursts-", host))
						if s.acquire(stop) != nil {
							return
						}
						defer s.release()
						for stop.Err() == nil {
							ended := s.await()
							time.Sleep(2 * patience)
							ended()
							s.received(stop, pace)
						}
					})
				}
				time.Sleep(20 * time.Second)
				ctx, end := context.WithTimeout(t.Context(), c.within)
				defer end()
				s := l.slot(c.tenant, "fine")
				g.Expect(s.acquire(ctx)).To(Succeed())
				s.release()
			})
		})
	}
}

// TestWhoWaitsForOthersKeepsItsTenantFromBeginningMore once they are many, and nobody else.
func TestWhoWaitsForOthersKeepsItsTenantFromBeginningMore(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(1)
	var wait []*slot
	var goOn []func()
	for host := range 100 {
		s := lining(l, l.slot("crowd", fmt.Sprint(host)))
		if !s.begun {
			s.release()
			continue
		}
		wait, goOn = append(wait, s), append(goOn, s.yield(t.Context()))
	}
	g.Expect(wait).To(HaveLen(asidePerSlot/2), "each has a connection")
	next, holds, other := l.slot("crowd", "next"), l.slot("crowd", "holds"), l.slot("team", "fine")
	holds.holdsMemory = true
	g.Expect(lining(l, next).turn).NotTo(BeClosed())
	g.Expect(lining(l, holds).turn).To(BeClosed(), "others may wait for what it has")
	holds.release()
	g.Expect(lining(l, other).turn).To(BeClosed())
	other.release()
	goOn[0]()
	g.Expect(wait[0].holds()).To(BeTrue(), "whoever has begun goes on")
	g.Expect(next.turn).NotTo(BeClosed())
	wait[0].release()
	g.Expect(next.turn).To(BeClosed())
	for _, s := range append(wait[1:], next) {
		s.release()
	}
	g.Expect(l.busy + l.aside + l.yielded + len(l.hosts) + len(l.tenants) + len(l.queue)).To(BeZero())
}

// TestWhoFindsNoPlaceAsideTriesAgain when too many others stepped aside already.
func TestWhoFindsNoPlaceAsideTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		l := newLimiter(1)
		s := lined(l, "a")
		l.mu.Lock()
		l.aside = asidePerSlot
		l.mu.Unlock()
		ended := s.await()
		defer s.release()
		defer ended()
		time.Sleep(10 * patience)
		synctest.Wait()
		g.Expect(l.running()).To(Equal(1))
		l.mu.Lock()
		l.aside = 0
		l.mu.Unlock()
		time.Sleep(2 * patience)
		synctest.Wait()
		g.Expect(l.running()).To(BeZero())
	})
}
