// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/fault"
)

// receives has bytes come from the source of a Hold, each time after it was waited for.
func (t *taker) receives(bytes int, after time.Duration) {
	for t.ctx.Err() == nil {
		ended := t.Await()
		select {
		case <-time.After(after):
			t.Received(bytes)
		case <-t.ctx.Done():
		}
		ended()
	}
}

// TestWhoStallsGivesBackWhatOthersWaitFor and is left alone for as long as nobody does.
func TestWhoStallsGivesBackWhatOthersWaitFor(t *testing.T) {
	for name, tc := range map[string]struct {
		holds int64
		does  func(h *taker)
		ends  bool
	}{
		"nothing comes":                {2 * mib, func(h *taker) { h.receives(0, time.Hour) }, true},
		"it drips":                     {2 * mib, func(h *taker) { h.receives(1, 50*time.Millisecond) }, true},
		"it begins again and drips":    {2 * mib, func(h *taker) { h.receives(pace/2, stall) }, true},
		"it goes on alone, in vain":    {64 * mib, func(h *taker) { h.receives(0, time.Hour) }, true},
		"it is slow":                   {2 * mib, func(h *taker) { h.receives(pace/2, stall/2) }, false},
		"it goes on alone, slowly":     {64 * mib, func(h *taker) { h.receives(pace/10, stall/10) }, false},
		"it works on what came":        {2 * mib, func(h *taker) { <-h.ctx.Done() }, false},
		"it waits for a turn itself":   {2 * mib, func(h *taker) { defer h.Await()(); defer h.Pause()(); <-h.ctx.Done() }, false},
		"it holds nothing to speak of": {free, func(h *taker) { h.receives(0, time.Hour) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				b := New(8 * mib)
				h, other := newTaker(t, b, "holds"), newTaker(t, b, "alone")
				defer other.Close()
				defer h.Close()
				g.Expect(Take(h.ctx, tc.holds)).To(Succeed())
				if b.alone == nil {
					g.Expect(Take(other.ctx, 64*mib)).To(Succeed())
				}
				go tc.does(h)
				time.Sleep(time.Hour)
				g.Expect(h.ctx.Err()).NotTo(HaveOccurred(), "nobody waits")

				waits := newTaker(t, b, "waits").takes(8 * mib)
				time.Sleep(stall - look)
				g.Expect(h.ctx.Err()).NotTo(HaveOccurred(), "it may be about to come")
				time.Sleep(longest / 2)
				g.Expect(h.ctx.Err() != nil).To(Equal(tc.ends))
				g.Expect(waits).NotTo(Receive())
				if !tc.ends {
					return
				}
				err := context.Cause(h.ctx)
				g.Expect(err).To(MatchError(And(ContainSubstring("the server sent next to nothing for 10s"), ContainSubstring("--artifact-cache-bytes"))))
				g.Expect(errors.Is(err, fault.ErrUnreachable)).To(BeTrue(), "%v", err)
				h.Close()
				other.Close()
				synctest.Wait()
				g.Expect(waits).To(Receive(Succeed()))
			})
		})
	}
}

// TestWhatStalledBeforeItHeldMuch is not held against it, such as the time in which a server
// prepares what it sends.
func TestWhatStalledBeforeItHeldMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := New(8 * mib)
		alone, h := newTaker(t, b, "alone"), newTaker(t, b, "prepares")
		defer alone.Close()
		defer h.Close()
		g.Expect(Take(alone.ctx, 64*mib)).To(Succeed())
		for range 2 {
			newTaker(t, b, "waits").takes(8 * mib)
		}
		ended := h.Await()
		time.Sleep(3 * stall)
		ended()
		h.Received(2 * free)
		done := h.takes(2 * free)
		synctest.Wait()
		alone.Close()
		synctest.Wait()
		g.Expect(done).To(Receive(Succeed()))
		g.Expect(b.waiting()).To(Equal(1))
		defer h.Await()()
		time.Sleep(stall / 2)
		g.Expect(h.ctx.Err()).NotTo(HaveOccurred())
	})
}

// TestTurnsGoRoundAmongTenants and in line among those of each.
func TestTurnsGoRoundAmongTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := New(mib)
		var order []string
		var last *taker
		enter := func(name, tenant string) {
			ctx, h := b.Open(t.Context(), tenant, name, time.Hour)
			go func() {
				if Take(ctx, 4*mib) == nil {
					order, last = append(order, name), &taker{Hold: h, ctx: ctx}
				}
			}()
			synctest.Wait()
		}
		for _, name := range []string{"a1", "a2", "a3", "a4", "b1", "b2", "c1"} {
			enter(name, name[:1])
		}
		for _, late := range []string{"", "", "", "c2", "", "", "", ""} {
			if late != "" {
				enter(late, late[:1])
			}
			last.Close()
			synctest.Wait()
		}
		g.Expect(order).To(Equal([]string{"a1", "b1", "c1", "a2", "b2", "c2", "a3", "a4"}))
		g.Expect(b.served).To(BeEmpty(), "once nobody waits")
		g.Expect(b.Used()).To(BeZero())
		g.Expect(b.holding).To(BeEmpty())
	})
}
