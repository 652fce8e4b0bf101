// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// bench runs a controller in a synctest bubble, where time stands still until every
// goroutine waits for it. It keeps a protocol of what was reconciled, and when.
type bench struct {
	*Controller[string]
	t       *testing.T // of the bubble
	stop    context.CancelFunc
	stopped chan struct{}
	err     error // of Run

	mu    sync.Mutex
	start time.Time
	done  []string // "<key>@<time since the start>"
}

// reconciled returns the protocol up to now.
func (b *bench) reconciled() []string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.done...)
}

// keys is the protocol without times.
func (b *bench) keys() []string {
	var keys []string
	for _, line := range b.reconciled() {
		var key string
		fmt.Sscanf(line, "%1s", &key)
		keys = append(keys, key)
	}
	return keys
}

// inBench runs test with a controller that is not started yet. The protocol is written
// before reconcile is called; nil does nothing.
func inBench(t *testing.T, o Options[string], reconcile ReconcilerFunc[string], test func(g *WithT, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, start: time.Now(), stopped: make(chan struct{})}
		o.Name = "test"
		o.Reconciler = ReconcilerFunc[string](func(ctx context.Context, key string) (Result, error) {
			b.mu.Lock()
			b.done = append(b.done, fmt.Sprintf("%s@%s", key, time.Since(b.start)))
			b.mu.Unlock()
			if reconcile == nil {
				return Result{}, nil
			}
			return reconcile(ctx, key)
		})
		b.Controller = New(o)
		b.stop = func() { close(b.stopped) }
		test(NewWithT(t), b)
		b.stop()
		<-b.stopped
	})
}

func (b *bench) run(ctx context.Context) {
	ctx, b.stop = context.WithCancel(ctx)
	go func() {
		defer close(b.stopped)
		b.err = b.Run(ctx)
	}()
	synctest.Wait()
}

func conflict() error {
	return fmt.Errorf("update status: %w", apierrors.NewConflict(schema.GroupResource{Resource: "releases"}, "x", errors.New("outdated")))
}

func TestWhatFollowsAReconcile(t *testing.T) {
	failure := errors.New("no route to host")
	tests := []struct {
		name    string
		options Options[string]
		results []Result // by pass; the last for all that follow
		errs    []error
		within  time.Duration
		want    []string
		outcome string // of the first pass
	}{
		{
			name: "success", within: time.Hour,
			want: []string{"a@0s"}, outcome: outcomeSuccess,
		},
		{
			name: "requeue after", results: []Result{{RequeueAfter: time.Minute}, {}}, within: time.Hour,
			want: []string{"a@0s", "a@1m0s"}, outcome: outcomeRequeue,
		},
		{
			name: "backoff doubles up to the limit", options: Options[string]{InitialBackoff: time.Second, MaxBackoff: 5 * time.Second},
			errs: []error{failure}, within: 20 * time.Second,
			want: []string{"a@0s", "a@1s", "a@3s", "a@7s", "a@12s", "a@17s"}, outcome: outcomeError,
		},
		{
			name: "backoff by key", options: Options[string]{Backoff: func(string) (time.Duration, time.Duration) { return time.Minute, 0 }},
			errs: []error{failure}, within: 10 * time.Minute,
			want: []string{"a@0s", "a@1m0s", "a@3m0s", "a@7m0s"}, outcome: outcomeError,
		},
		{
			name: "success forgets the backoff", errs: []error{failure, failure, nil, failure, nil},
			results: []Result{{}, {}, {RequeueAfter: time.Minute}, {}, {}}, within: time.Hour,
			want: []string{"a@0s", "a@1s", "a@3s", "a@1m3s", "a@1m4s"}, outcome: outcomeError,
		},
		{
			name: "requeue after is for success only", errs: []error{failure, nil},
			results: []Result{{RequeueAfter: time.Minute}, {}}, within: time.Hour,
			want: []string{"a@0s", "a@1s"}, outcome: outcomeError,
		},
		{
			name: "terminal", errs: []error{fmt.Errorf("step: %w", Terminal(failure))}, within: time.Hour,
			want: []string{"a@0s"}, outcome: outcomeTerminal,
		},
		{
			name: "terminal with a timer", errs: []error{Terminal(failure), nil},
			results: []Result{{RequeueAfter: time.Minute}, {}}, within: time.Hour,
			want: []string{"a@0s", "a@1m0s"}, outcome: outcomeTerminal,
		},
		{
			name: "conflict", errs: []error{conflict(), conflict(), nil}, within: time.Hour,
			want: []string{"a@0s", "a@10ms", "a@30ms"}, outcome: outcomeConflict,
		},
		{
			name: "conflicts do not count as failures", errs: []error{conflict(), failure, conflict(), failure, nil}, within: time.Hour,
			want: []string{"a@0s", "a@10ms", "a@1.01s", "a@1.03s", "a@3.03s"}, outcome: outcomeConflict,
		},
		{
			name: "a cancellation that is not the controller's is a failure", errs: []error{context.Canceled, nil}, within: time.Hour,
			want: []string{"a@0s", "a@1s"}, outcome: outcomeError,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pass := 0
			test.options.Registerer = prometheus.NewPedanticRegistry()
			inBench(t, test.options, func(context.Context, string) (Result, error) {
				result, err := at(test.results, pass), at(test.errs, pass)
				pass++
				return result, err
			}, func(g *WithT, b *bench) {
				b.Enqueue("a", PriorityChange)
				b.run(b.t.Context())
				g.Expect(testutil.ToFloat64(b.metrics.outcomes.WithLabelValues(test.outcome))).To(Equal(1.0))
				time.Sleep(test.within)
				g.Expect(b.reconciled()).To(Equal(test.want))
			})
		})
	}
}

// at is the element at i, or the last one, or the zero value.
func at[T any](all []T, i int) T {
	if len(all) == 0 {
		var none T
		return none
	}
	return all[min(i, len(all)-1)]
}

func TestPanicIsAFailureWithItsStackInTheLog(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	cause := errors.New("index out of range")
	pass := 0
	inBench(t, Options[string]{}, func(context.Context, string) (Result, error) {
		if pass++; pass == 1 {
			panic(cause)
		}
		return Result{}, nil
	}, func(g *WithT, b *bench) {
		b.Enqueue("a", PriorityChange)
		b.run(klog.NewContext(b.t.Context(), logger))
		time.Sleep(time.Minute)
		g.Expect(b.reconciled()).To(Equal([]string{"a@0s", "a@1s"}))
	})
	log := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	NewWithT(t).Expect(log).To(And(ContainSubstring("index out of range"), ContainSubstring("controller_test.go"),
		ContainSubstring(`controller="test"`), ContainSubstring(`key="a"`)))
	NewWithT(t).Expect(errors.Is(&panicError{value: cause}, cause)).To(BeTrue())
}

func TestQuietErrors(t *testing.T) {
	tests := []struct {
		name  string
		given error
		want  bool // an error in the log
	}{
		{"failure", errors.New("broken"), true},
		{"terminal", Terminal(errors.New("broken")), true},
		{"conflict", conflict(), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
			inBench(t, Options[string]{}, func(context.Context, string) (Result, error) {
				return Result{}, test.given
			}, func(_ *WithT, b *bench) {
				b.Enqueue("a", PriorityChange)
				b.run(klog.NewContext(b.t.Context(), logger))
			})
			errs := 0
			for _, entry := range logger.GetSink().(ktesting.Underlier).GetBuffer().Data() {
				if entry.Type == ktesting.LogError {
					errs++
				}
			}
			NewWithT(t).Expect(errs > 0).To(Equal(test.want))
		})
	}
}

func TestAKeyIsWithOneWorkerAtMost(t *testing.T) {
	var inWork, most atomic.Int32
	inBench(t, Options[string]{Workers: 8}, func(context.Context, string) (Result, error) {
		now := inWork.Add(1)
		defer inWork.Add(-1)
		if now > most.Load() {
			most.Store(now)
		}
		time.Sleep(time.Second)
		return Result{}, nil
	}, func(g *WithT, b *bench) {
		b.run(b.t.Context())
		for range 100 {
			b.Enqueue("a", PriorityChange)
			time.Sleep(100 * time.Millisecond)
		}
		g.Expect(most.Load()).To(Equal(int32(1)))
		g.Expect(len(b.reconciled())).To(BeNumerically("~", 10, 1))
	})
}

func TestAKeyEnqueuedWhileInWorkComesAgainOnce(t *testing.T) {
	inBench(t, Options[string]{Workers: 2}, func(context.Context, string) (Result, error) {
		time.Sleep(time.Second)
		return Result{RequeueAfter: time.Minute}, nil
	}, func(g *WithT, b *bench) {
		b.run(b.t.Context())
		b.Enqueue("a", PriorityChange)
		time.Sleep(500 * time.Millisecond)
		b.Enqueue("a", PriorityResync)
		b.Enqueue("a", PriorityChange)
		time.Sleep(time.Minute)
		g.Expect(b.reconciled()).To(Equal([]string{"a@0s", "a@1s"}), "the timer of the first pass is void")
		time.Sleep(2 * time.Second)
		g.Expect(b.reconciled()).To(Equal([]string{"a@0s", "a@1s", "a@1m2s"}))
	})
}

func TestOrder(t *testing.T) {
	groups := func(key string) string { return map[string]string{"x": "two", "y": "two", "z": "three"}[key] }
	tests := []struct {
		name    string
		options Options[string]
		given   func(*bench)
		want    []string
	}{
		{
			name: "first come, first served",
			given: func(b *bench) {
				for _, key := range []string{"c", "a", "b", "a", "c"} {
					b.Enqueue(key, PriorityChange)
				}
			},
			want: []string{"c", "a", "b"},
		},
		{
			name: "higher priority first",
			given: func(b *bench) {
				b.Enqueue("a", PriorityResync)
				b.Enqueue("b", PriorityChange)
				b.Enqueue("c", PriorityRequest)
				b.Enqueue("d", PriorityChange)
			},
			want: []string{"c", "b", "d", "a"},
		},
		{
			name: "a waiting key is promoted, never demoted",
			given: func(b *bench) {
				for _, key := range []string{"a", "b", "c"} {
					b.Enqueue(key, PriorityChange)
				}
				b.Enqueue("c", PriorityRequest)
				b.Enqueue("a", PriorityResync)
			},
			want: []string{"c", "a", "b"},
		},
		{
			name:    "groups take turns",
			options: Options[string]{GroupOf: groups},
			given: func(b *bench) {
				for _, key := range []string{"a", "b", "c", "d", "x", "y", "z"} {
					b.Enqueue(key, PriorityChange)
				}
			},
			want: []string{"a", "x", "z", "b", "y", "c", "d"},
		},
		{
			name:    "priority goes before turns",
			options: Options[string]{GroupOf: groups},
			given: func(b *bench) {
				b.Enqueue("a", PriorityRequest)
				b.Enqueue("b", PriorityRequest)
				b.Enqueue("x", PriorityChange)
			},
			want: []string{"a", "b", "x"},
		},
		{
			name:  "an unknown priority is the nearest known one",
			given: func(b *bench) { b.Enqueue("a", -3); b.Enqueue("b", 99) },
			want:  []string{"b", "a"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBench(t, test.options, nil, func(g *WithT, b *bench) {
				test.given(b)
				b.run(b.t.Context())
				g.Expect(b.keys()).To(Equal(test.want))
			})
		})
	}
}

func TestAGroupTakesNoMoreWorkersThanItsLimit(t *testing.T) {
	slow := func(_ context.Context, key string) (Result, error) {
		if key < "x" {
			time.Sleep(time.Minute)
		}
		return Result{}, nil
	}
	o := Options[string]{Workers: 3, GroupLimit: 2, GroupOf: func(key string) string { return map[bool]string{true: "slow", false: "quick"}[key < "x"] }}
	inBench(t, o, slow, func(g *WithT, b *bench) {
		for _, key := range []string{"a", "b", "c", "x"} {
			b.Enqueue(key, PriorityRequest)
		}
		b.Enqueue("y", PriorityResync)
		b.run(b.t.Context())
		g.Expect(b.reconciled()).To(ConsistOf("a@0s", "b@0s", "x@0s", "y@0s"))
		time.Sleep(time.Hour)
		g.Expect(b.reconciled()).To(ContainElement("c@1m0s"))
	})
}

func TestTimers(t *testing.T) {
	inBench(t, Options[string]{}, nil, func(g *WithT, b *bench) {
		b.EnqueueAfter("a", time.Minute)
		b.EnqueueAfter("b", 3*time.Minute)
		b.run(b.t.Context())
		b.EnqueueAfter("b", 2*time.Minute) // the earlier stands
		b.EnqueueAfter("b", 4*time.Minute)
		b.EnqueueAfter("c", time.Second)
		b.EnqueueAfter("d", 0)
		b.EnqueueAfter("e", time.Minute)
		b.Enqueue("e", PriorityChange) // a reconcile does away with the timer
		time.Sleep(time.Hour)
		g.Expect(b.reconciled()).To(Equal([]string{"d@0s", "e@0s", "c@1s", "a@1m0s", "b@2m0s"}))
		g.Expect(b.queue.entries).To(BeEmpty(), "an idle key costs nothing")
	})
}

// Changes that come while a key is in work wait until it has rested, but not a request, and
// not longer than anybody would notice.
func TestAKeyRestsAfterItsWork(t *testing.T) {
	for _, test := range []struct {
		name  string
		rest  float64
		took  time.Duration
		doing func(b *bench) // while it is in work for the first time
		want  []string
	}{
		{"a change waits", 4, 20 * time.Millisecond, func(b *bench) { b.Enqueue("a", PriorityChange) }, []string{"a@0s", "a@100ms"}},
		{"a request does not", 4, 20 * time.Millisecond, func(b *bench) { b.Enqueue("a", PriorityRequest) }, []string{"a@0s", "a@20ms"}},
		{"nothing waits long", 4, time.Second, func(b *bench) { b.Enqueue("a", PriorityChange) }, []string{"a@0s", "a@1.25s"}},
		{"short work needs no rest", 4, 100 * time.Microsecond, func(b *bench) { b.Enqueue("a", PriorityChange) }, []string{"a@0s", "a@100µs"}},
		{"nothing rests unless told", 0, 20 * time.Millisecond, func(b *bench) { b.Enqueue("a", PriorityChange) }, []string{"a@0s", "a@20ms"}},
		{"other keys do not wait", 4, 20 * time.Millisecond, func(b *bench) { b.Enqueue("a", PriorityChange); b.Enqueue("b", PriorityChange) },
			[]string{"a@0s", "b@20ms", "a@100ms"}},
		{"many changes are one", 4, 20 * time.Millisecond, func(b *bench) {
			b.Enqueue("a", PriorityChange)
			b.EnqueueAfter("a", 30*time.Millisecond)
			b.EnqueueAfter("a", 110*time.Millisecond)
		}, []string{"a@0s", "a@100ms"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var own *bench
			first := true
			inBench(t, Options[string]{Rest: test.rest}, func(context.Context, string) (Result, error) {
				if first {
					first = false
					test.doing(own)
				}
				time.Sleep(test.took)
				return Result{}, nil
			}, func(g *WithT, b *bench) {
				own = b
				b.Enqueue("a", PriorityChange)
				b.run(b.t.Context())
				time.Sleep(10 * time.Second)
				g.Expect(b.reconciled()).To(Equal(test.want))
			})
		})
	}
}

func TestUnownedKeysAreDropped(t *testing.T) {
	var owned sync.Map
	isOwned := func(key string) bool { _, ok := owned.Load(key); return ok }
	var cause error
	inBench(t, Options[string]{Owned: isOwned}, func(ctx context.Context, key string) (Result, error) {
		if key != "a" {
			return Result{}, nil
		}
		<-ctx.Done()
		time.Sleep(time.Second) // to come to an end
		cause = context.Cause(ctx)
		return Result{}, ctx.Err()
	}, func(g *WithT, b *bench) {
		for _, key := range []string{"a", "b", "c"} {
			owned.Store(key, true)
		}
		b.run(b.t.Context())
		b.Enqueue("x", PriorityRequest)
		b.EnqueueAfter("y", time.Second)
		b.Enqueue("a", PriorityChange)
		synctest.Wait()
		b.Enqueue("b", PriorityChange) // waits for the worker
		b.Enqueue("c", PriorityChange)
		b.EnqueueAfter("d", time.Second)
		b.Enqueue("a", PriorityChange)

		owned.Delete("a")
		owned.Delete("b")
		start := time.Now()
		b.DropUnowned()
		g.Expect(time.Since(start)).To(Equal(time.Second), "it waits for the work to end")
		g.Expect(cause).To(MatchError(ErrUnowned))
		time.Sleep(time.Hour)
		g.Expect(b.keys()).To(Equal([]string{"a", "c"}))
		g.Expect(b.queue.entries).To(BeEmpty())

		owned.Store("b", true) // gained again
		b.Enqueue("b", PriorityResync)
		g.Expect(b.keys()).To(Equal([]string{"a", "c", "b"}))
	})
}

// Whoever is told to end gives what it owns to others, but not while it still writes.
func TestDropUnownedWaitsWhenTheControllerEnds(t *testing.T) {
	var lost, written atomic.Bool
	inBench(t, Options[string]{Owned: func(string) bool { return !lost.Load() }}, func(context.Context, string) (Result, error) {
		time.Sleep(time.Minute) // a write that is under way heeds no context
		written.Store(true)
		return Result{}, nil
	}, func(g *WithT, b *bench) {
		b.Enqueue("a", PriorityChange)
		b.run(b.t.Context())
		synctest.Wait()
		b.stop()
		lost.Store(true)
		b.DropUnowned()
		g.Expect(written.Load()).To(BeTrue())
	})
}

func TestRunDrainsItsWorkers(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	inBench(t, Options[string]{Workers: 2}, func(ctx context.Context, key string) (Result, error) {
		<-ctx.Done()
		time.Sleep(time.Second)
		return Result{}, fmt.Errorf("get: %w", ctx.Err())
	}, func(g *WithT, b *bench) {
		for _, key := range []string{"a", "b", "c"} {
			b.Enqueue(key, PriorityChange)
		}
		b.run(klog.NewContext(b.t.Context(), logger))
		b.stop()
		start := time.Now()
		<-b.stopped
		g.Expect(b.err).NotTo(HaveOccurred())
		g.Expect(time.Since(start)).To(Equal(time.Second))
		g.Expect(b.keys()).To(ConsistOf("a", "b"), "nothing new is begun")
		b.Enqueue("d", PriorityRequest)
		g.Expect(b.Run(b.t.Context())).NotTo(Succeed(), "it runs once")
	})
	for _, entry := range logger.GetSink().(ktesting.Underlier).GetBuffer().Data() {
		NewWithT(t).Expect(entry.Type).NotTo(Equal(ktesting.LogError), entry.Message)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	New(Options[string]{Name: "other", Reconciler: ReconcilerFunc[string](nil), Registerer: registry}).
		Enqueue("a", PriorityResync)
	inBench(t, Options[string]{Registerer: registry}, func(context.Context, string) (Result, error) {
		time.Sleep(2 * time.Second)
		return Result{}, nil
	}, func(g *WithT, b *bench) {
		for _, key := range []string{"a", "b", "c"} {
			b.Enqueue(key, PriorityChange)
		}
		b.run(b.t.Context())
		g.Expect(testutil.ToFloat64(b.metrics.depths.WithLabelValues("change"))).To(Equal(2.0))
		g.Expect(testutil.ToFloat64(b.metrics.outcomes.WithLabelValues(outcomeSuccess))).To(Equal(0.0))
		time.Sleep(time.Minute)
		g.Expect(testutil.ToFloat64(b.metrics.depths.WithLabelValues("change"))).To(Equal(0.0))
		g.Expect(testutil.ToFloat64(b.metrics.outcomes.WithLabelValues(outcomeSuccess))).To(Equal(3.0))
		g.Expect(testutil.ToFloat64(b.metrics.last)).To(Equal(float64(b.start.Unix() + 6)))

		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		sums := map[string]float64{}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				if metric.GetHistogram().GetSampleCount() > 0 {
					sums[family.GetName()] += metric.GetHistogram().GetSampleSum()
				}
			}
		}
		g.Expect(sums).To(Equal(map[string]float64{
			"convoy_controller_queue_latency_seconds":      0 + 2 + 4,
			"convoy_controller_reconcile_duration_seconds": 3 * 2,
		}))
	})
}

func TestNewPanicsWithoutReconciler(t *testing.T) {
	g := NewWithT(t)
	g.Expect(func() { New(Options[string]{Name: "x"}) }).To(Panic())
	g.Expect(func() { New(Options[string]{Reconciler: ReconcilerFunc[string](nil)}) }).To(Panic())
}

func TestTerminal(t *testing.T) {
	cause := errors.New("broken")
	tests := []struct {
		name  string
		given error
		want  bool
	}{
		{"marked", Terminal(cause), true},
		{"wrapped", fmt.Errorf("step: %w", Terminal(cause)), true},
		{"joined", errors.Join(errors.New("other"), Terminal(cause)), true},
		{"not marked", cause, false},
		{"nil", Terminal(nil), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(IsTerminal(test.given)).To(Equal(test.want))
		})
	}
	g := NewWithT(t)
	g.Expect(Terminal(cause)).To(MatchError(cause))
	g.Expect(Terminal(cause).Error()).To(Equal("broken"))
	g.Expect(Terminal(nil)).To(BeNil())
}
