// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"
)

// logging gives a replica a log to look at.
func logging(r *replica, _ *Options) {
	r.logger = ktesting.NewLogger(ktesting.NopTL{}, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(2)))
}

// logged counts the lines of a replica's log that say something of a Lease.
func (r *replica) logged(what string) int {
	log := r.logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	return strings.Count(log, what)
}

func (w *world) remove(g *WithT, name string) {
	leases := w.client(&replica{}).CoordinationV1().Leases(DefaultNamespace)
	g.Expect(leases.Delete(w.t.Context(), name, metav1.DeleteOptions{})).To(Succeed())
}

func TestADeletedLeaseIsMadeAgainAtOnce(t *testing.T) {
	for _, name := range []string{"convoy-cm-0", "convoy-cm-1", "convoy-cm-member-a", "convoy-cm-member-b"} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(g *WithT, w *world) {
				a, b := w.start("a", 2, logging), w.start("b", 2, logging)
				within(g, soon, "two share", func() bool { return slices.Equal(counts(a, b), []int{1, 1}) })
				before := slices.Concat(a.Owned(), b.Owned())
				for range 3 {
					time.Sleep(20 * time.Second)
					w.remove(g, name)
					within(g, soon, "it is there again", func() bool { return slices.Contains(w.names(g), name) })
				}
				time.Sleep(time.Minute)
				g.Expect(slices.Concat(a.Owned(), b.Owned())).To(Equal(before), "nothing changes hands")
				g.Expect(a.logged("Made a Lease again")+b.logged("Made a Lease again")).To(Equal(3), "once for each deletion")
				g.Expect(a.logged("Could not") + b.logged("Could not")).To(BeZero())
				g.Expect(a.Check(w.t.Context())).To(Succeed())
			})
		})
	}
}

func TestAllLeasesDeletedAtOnce(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a, b := w.start("a", 4), w.start("b", 4)
		within(g, soon, "two share", func() bool { return slices.Equal(counts(a, b), []int{2, 2}) })
		names := w.names(g)
		for _, name := range names {
			w.remove(g, name)
		}
		within(g, soon, "all are there again", func() bool { return slices.Equal(w.names(g), names) })
		time.Sleep(time.Minute)
		g.Expect(counts(a, b)).To(Equal([]int{2, 2}))
	})
}

func TestAMembershipIsNobodyElses(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a, b := w.start("a", 2, logging), w.start("b", 2)
		within(g, soon, "two share", func() bool { return slices.Equal(counts(a, b), []int{1, 1}) })
		w.put(g, "convoy-cm-member-a", "somebody", "2")
		time.Sleep(time.Minute)
		g.Expect(counts(a, b)).To(Equal([]int{1, 1}))
		g.Expect(a.Check(w.t.Context())).To(Succeed())
		g.Expect(a.logged("Could not")).To(BeZero())
	})
}

// A replica that was paused for so long that the others have forgotten it comes back.
func TestAReplicaThatWasPausedComesBack(t *testing.T) {
	for _, pause := range []time.Duration{11 * time.Second, 20 * time.Second, 10 * time.Minute} {
		t.Run(pause.String(), func(t *testing.T) {
			inWorld(t, func(g *WithT, w *world) {
				a, b := w.start("a", 4, logging), w.start("b", 4)
				within(g, soon, "two share", func() bool { return slices.Equal(counts(a, b), []int{2, 2}) })
				a.pause()
				time.Sleep(5*time.Second + pause)
				g.Expect(a.Owned()).To(BeEmpty())
				a.wake()
				within(g, 2*soon, "they share again", func() bool { return slices.Equal(counts(a, b), []int{2, 2}) })
				g.Expect(a.Check(w.t.Context())).To(Succeed())
				failures := a.logged("Could not")
				time.Sleep(time.Minute)
				g.Expect(a.logged("Could not")).To(Equal(failures))
				g.Expect(counts(a, b)).To(Equal([]int{2, 2}))
			})
		})
	}
}

// Owns was false for a while, and keys were dropped for that: the subscribers are told of a
// loss and a gain, although nobody else had the shard.
func TestAPauseThatNobodyUsed(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a := w.start("a", 1)
		within(g, soon, "a owns all", func() bool { return a.Owns(0) })
		var gained, lost int
		a.Subscribe(func(g, l []int) { gained, lost = gained+len(g), lost+len(l) })
		a.pause()
		time.Sleep(12 * time.Second)
		g.Expect(a.Owns(0)).To(BeFalse())
		a.wake()
		within(g, 2*soon, "a owns it again", func() bool { return a.Owns(0) })
		synctest.Wait()
		g.Expect([]int{lost, gained}).To(Equal([]int{1, 1}))
	})
}

// While a was away, b took the shard and lost the Lease of it to a deletion: a does not go
// on as if it were its own still.
func TestALeaseDeletedWhileItsFormerHolderIsPaused(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a := w.start("a", 1)
		within(g, soon, "a owns all", func() bool { return a.Owns(0) })
		b := w.start("b", 1)
		a.pause()
		within(g, 25*time.Second, "b takes over", func() bool { return b.Owns(0) })
		lost := 0
		a.Subscribe(func(_, l []int) { lost += len(l) })
		w.remove(g, "convoy-cm-0")
		a.wake()
		time.Sleep(time.Minute)
		g.Expect(lost).To(Equal(1))
		g.Expect(counts(a, b)).To(Equal([]int{1, 0}))
	})
}

// wrongClock is a clock that is wrong by so much.
type wrongClock struct {
	clock.RealClock
	by time.Duration
}

func (c wrongClock) Now() time.Time                  { return c.RealClock.Now().Add(c.by) }
func (c wrongClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func TestClocksThatDisagree(t *testing.T) {
	wrong := func(by time.Duration) func(*replica, *Options) {
		return func(_ *replica, o *Options) { o.Clock = wrongClock{by: by} }
	}
	inWorld(t, func(g *WithT, w *world) {
		a, b, c := w.start("a", 6, wrong(-time.Hour)), w.start("b", 6), w.start("c", 6, wrong(24*time.Hour))
		within(g, soon, "three share", func() bool { return slices.Equal(counts(a, b, c), []int{2, 2, 2}) })
		time.Sleep(time.Minute)
		g.Expect(counts(a, b, c)).To(Equal([]int{2, 2, 2}))
		for _, r := range []*replica{a, c} {
			r.kill()
			within(g, DefaultLeaseDuration+soon, "the others take over", func() bool { return !slices.Contains(counts(a, b, c), 2) })
			r.cut.Store(false)
			within(g, 2*soon, "three share again", func() bool { return slices.Equal(counts(a, b, c), []int{2, 2, 2}) })
		}
	})
}

func TestAnAPIServerThatIsAwayAndComesBack(t *testing.T) {
	for _, away := range []time.Duration{4 * time.Second, 12 * time.Second, 5 * time.Minute} {
		t.Run(away.String(), func(t *testing.T) {
			inWorld(t, func(g *WithT, w *world) {
				a, b := w.start("a", 4), w.start("b", 4)
				within(g, soon, "two share", func() bool { return slices.Equal(counts(a, b), []int{2, 2}) })
				a.cut.Store(true)
				b.cut.Store(true)
				time.Sleep(away)
				if away > DefaultLeaseDuration/3*2 {
					g.Expect(counts(a, b)).To(Equal([]int{0, 0}))
				}
				a.cut.Store(false)
				b.cut.Store(false)
				within(g, 3*soon, "two share again", func() bool { return slices.Equal(counts(a, b), []int{2, 2}) })
				g.Expect(a.Check(w.t.Context())).To(Succeed())
				g.Expect(b.Check(w.t.Context())).To(Succeed())
			})
		})
	}
}
