// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/kubernetes/fake"
)

// soon is long enough for everything that needs no Lease to run out.
const soon = time.Second

func TestNewManagerRefuses(t *testing.T) {
	valid := func() Options {
		return Options{Client: &fake.Clientset{}, Component: "convoy-cm", Identity: "a", Shards: 1}
	}
	tests := []struct {
		name  string
		given func(*Options)
		want  string
	}{
		{"no client", func(o *Options) { o.Client = nil }, "a client is required"},
		{"no shards", func(o *Options) { o.Shards = 0 }, "number of shards is 0"},
		{"no identity", func(o *Options) { o.Identity = "" }, "identity are required"},
		{"an identity that no Lease can be named after", func(o *Options) { o.Identity = "Node_1" }, `"convoy-cm-member-Node_1" cannot be the name`},
		{"a broken second", func(o *Options) { o.LeaseDuration = 1500 * time.Millisecond }, "lease duration is 1.5s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := valid()
			test.given(&o)
			_, err := NewManager(o)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
	_, err := NewManager(valid())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

func TestReplicasShareEvenlyAndHandOverAtOnce(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a := w.start("a", 6)
		within(g, soon, "a alone owns all", func() bool { return len(a.Owned()) == 6 })

		b, c := w.start("b", 6), w.start("c", 6)
		within(g, soon, "three share", func() bool { return slices.Equal(counts(a, b, c), []int{2, 2, 2}) })
		for shard := range 6 {
			g.Expect(a.Owns(shard) || b.Owns(shard) || c.Owns(shard)).To(BeTrue())
		}

		before := slices.Concat(a.Owned(), b.Owned(), c.Owned())
		time.Sleep(time.Minute)
		g.Expect(slices.Concat(a.Owned(), b.Owned(), c.Owned())).To(Equal(before), "nothing moves without a cause")

		d := w.start("d", 6)
		within(g, soon, "four share", func() bool { return slices.Equal(counts(a, b, c, d), []int{2, 2, 1, 1}) })

		for _, r := range []*replica{a, c, d} {
			r.stop()
			<-r.stopped
			g.Expect(r.err).NotTo(HaveOccurred())
			g.Expect(r.Owned()).To(BeEmpty())
		}
		within(g, soon, "b alone owns all", func() bool { return len(b.Owned()) == 6 })
		g.Expect(w.names(g)).To(ConsistOf("convoy-cm-0", "convoy-cm-1", "convoy-cm-2", "convoy-cm-3", "convoy-cm-4", "convoy-cm-5", "convoy-cm-member-b"))
	})
}

func TestReplicasThatStartAtOnce(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a, b, c := w.start("a", 7), w.start("b", 7), w.start("c", 7)
		within(g, soon, "three share", func() bool { return slices.Equal(counts(a, b, c), []int{3, 2, 2}) })
	})
}

func TestShardsOfADeadReplicaAreTakenOver(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a, b := w.start("a", 4), w.start("b", 4)
		within(g, soon, "two share", func() bool { return slices.Equal(counts(a, b), []int{2, 2}) })
		time.Sleep(time.Minute)

		b.kill()
		stopped := within(g, DefaultLeaseDuration, "b stops", func() bool { return len(b.Owned()) == 0 })
		g.Expect(len(a.Owned())).To(Equal(2), "b stops before another starts")
		g.Expect(stopped).To(BeNumerically("<=", 10*time.Second))
		synctest.Wait()
		g.Expect(b.works()).To(BeEmpty(), "the subscribers were told")
		taken := within(g, DefaultLeaseDuration, "a owns all", func() bool { return len(a.Owned()) == 4 })
		g.Expect(stopped + taken).To(BeNumerically("<=", DefaultLeaseDuration+time.Second))

		within(g, DefaultLeaseDuration, "b's membership is swept", func() bool { return !slices.Contains(w.names(g), "convoy-cm-member-b") })
		b.cut.Store(false)
		within(g, 2*soon, "b is back", func() bool { return slices.Equal(counts(a, b), []int{2, 2}) })
	})
}

func TestAShortOutageLosesNothing(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a := w.start("a", 3)
		within(g, soon, "a owns all", func() bool { return len(a.Owned()) == 3 })
		for range 10 {
			a.cut.Store(true)
			time.Sleep(4500 * time.Millisecond)
			g.Expect(a.Owned()).To(HaveLen(3))
			a.cut.Store(false)
			time.Sleep(2 * time.Second)
			g.Expect(a.Owned()).To(HaveLen(3))
		}
	})
}

func TestOwnershipEndsWhileRequestsHang(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a := w.start("a", 1)
		within(g, soon, "a owns all", func() bool { return a.Owns(0) })
		a.hang.Store(true)
		time.Sleep(10 * time.Second)
		g.Expect(a.Owns(0)).To(BeFalse())
		g.Expect(a.Check(w.t.Context())).NotTo(Succeed())
		close(a.resume)
	})
}

func TestAShardIsKeptUntilItsWorkHasStopped(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a := w.start("a", 2, func(r *replica, _ *Options) { r.drain = time.Minute })
		within(g, soon, "a owns all", func() bool { return len(a.Owned()) == 2 })
		b := w.start("b", 2)
		within(g, soon, "a leaves one", func() bool { return len(a.Owned()) == 1 })
		time.Sleep(58 * time.Second)
		g.Expect(b.Owned()).To(BeEmpty(), "a still works on it")
		within(g, 2*time.Second, "b has it", func() bool { return len(b.Owned()) == 1 })
		g.Expect(a.Owned()).To(HaveLen(1), "renewed all the while")

		a.stop()
		time.Sleep(30 * time.Second)
		g.Expect(b.Owned()).To(HaveLen(1))
		g.Expect(a.stopped).NotTo(BeClosed(), "Run waits for the work to stop")
		<-a.stopped
		within(g, soon, "b owns all", func() bool { return len(b.Owned()) == 2 })
	})
}

func TestARestartUnderTheSameIdentityDoesNotWait(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		w.put(g, "convoy-cm-0", "a", "2")
		w.put(g, "convoy-cm-1", "other", "2")
		w.put(g, "convoy-cm-member-a", "a", "2")
		a := w.start("a", 2)
		within(g, soon, "a has its own back", func() bool { return a.Owns(0) })
		g.Expect(a.Owns(1)).To(BeFalse())
		waited := within(g, 2*DefaultLeaseDuration, "a takes what ran out", func() bool { return a.Owns(1) })
		g.Expect(waited).To(BeNumerically(">", DefaultLeaseDuration-2*soon))
	})
}

func TestALeaseThatAnotherTookIsLost(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a := w.start("a", 1)
		within(g, soon, "a owns all", func() bool { return a.Owns(0) })
		w.put(g, "convoy-cm-0", "somebody", "1")
		within(g, soon, "a finds out", func() bool { return !a.Owns(0) })
		within(g, 2*DefaultLeaseDuration, "a has it again", func() bool { return a.Owns(0) })
	})
}

func TestSweepsWhatALargerNumberOfShardsLeft(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		a := w.start("a", 3)
		within(g, soon, "a owns all", func() bool { return len(a.Owned()) == 3 })
		a.stop()
		<-a.stopped
		b := w.start("b", 1)
		within(g, soon, "b owns all", func() bool { return b.Owns(0) })
		within(g, soon, "the others are gone", func() bool { return slices.Equal(w.names(g), []string{"convoy-cm-0", "convoy-cm-member-b"}) })
	})
}

func TestAnotherNumberOfShardsIsRefused(t *testing.T) {
	tests := []struct {
		name      string
		component string
	}{
		{"same component", "convoy-cm"},
		{"another component of the installation", "convoy-obs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(g *WithT, w *world) {
				a := w.start("a", 4)
				within(g, soon, "a owns all", func() bool { return len(a.Owned()) == 4 })
				b := w.start("b", 3, func(_ *replica, o *Options) { o.Component = test.component })
				<-b.stopped
				g.Expect(b.err).To(MatchError(ErrShardsDiffer))
				g.Expect(b.err).To(MatchError(And(ContainSubstring("--shards=4"), ContainSubstring("--shards=3"), ContainSubstring("convoy-system/convoy-cm-"))))
				g.Expect(a.Owned()).To(HaveLen(4))
				g.Expect(w.names(g)).To(HaveLen(5))
			})
		})
	}
}

func TestTheDeadDoNotRefuse(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		w.put(g, "convoy-cm-0", "dead", "4")
		w.put(g, "convoy-cm-member-dead", "dead", "4")
		a := w.start("a", 2)
		time.Sleep(soon)
		g.Expect(a.Check(w.t.Context())).NotTo(Succeed())
		within(g, DefaultLeaseDuration, "a owns all", func() bool { return len(a.Owned()) == 2 })
		g.Expect(a.Check(w.t.Context())).To(Succeed())
	})
}

func TestDifferentNumbersOfShardsThatStartAtOnceNeverBothWork(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		// Neither can see the other before both have asked to become members.
		slowly := func(slow time.Duration) func(*replica, *Options) {
			return func(r *replica, _ *Options) { r.slow = slow }
		}
		a, b := w.start("a", 1, slowly(20*time.Millisecond)), w.start("b", 2, slowly(30*time.Millisecond))
		working := 0
		for range 100 {
			if len(a.Owned()) > 0 && len(b.Owned()) > 0 {
				g.Expect("both work").To(BeEmpty())
			}
			working = max(working, len(a.Owned()), len(b.Owned()))
			time.Sleep(100 * time.Millisecond)
		}
		var refused []error
		for _, r := range []*replica{a, b} {
			select {
			case <-r.stopped:
				refused = append(refused, r.err)
			default:
			}
		}
		g.Expect(refused).NotTo(BeEmpty())
		g.Expect(refused).To(HaveEach(MatchError(ErrShardsDiffer)))
	})
}

func TestManagerMetrics(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		registry := prometheus.NewPedanticRegistry()
		a := w.start("a", 5, func(_ *replica, o *Options) { o.Registerer = registry })
		within(g, soon, "a owns all", func() bool { return len(a.Owned()) == 5 })
		g.Expect(testutil.ToFloat64(a.gauge)).To(Equal(5.0))
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(families).To(HaveLen(2))
	})
}
