// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	defaultInitialBackoff = time.Second
	defaultMaxBackoff     = 5 * time.Minute
	// minRest and maxRest bound how long a key rests: what is shorter is left out, and nothing
	// that took long, as for a slow server, makes changes wait for what anybody would notice.
	minRest = time.Millisecond
	maxRest = 250 * time.Millisecond
)

// Priority orders the keys that wait: a higher one goes first.
type Priority int

const (
	// PriorityResync is for a look without a cause: a periodic resync, a timer, the objects
	// that exist when the process starts. The zero value.
	PriorityResync Priority = iota
	// PriorityChange is for a change that was observed.
	PriorityChange
	// PriorityRequest is for what a person asked for and waits for.
	PriorityRequest

	priorities = int(PriorityRequest) + 1
)

// String gives the name of the priority, as in the metrics.
func (p Priority) String() string {
	switch p {
	case PriorityResync:
		return "resync"
	case PriorityChange:
		return "change"
	case PriorityRequest:
		return "request"
	}
	return fmt.Sprintf("Priority(%d)", int(p))
}

// Result says what follows a reconcile. The zero value: nothing until something enqueues
// the key.
type Result struct {
	// RequeueAfter is the time until the key is reconciled again, counted from the end of
	// this reconcile; 0 or less: no timer. It is heeded beside a nil and a Terminal error.
	RequeueAfter time.Duration
	// Priority of the key when that time is over.
	Priority Priority
}

// Reconciler brings what a key stands for one step nearer to its desired state.
//
// Reconcile is called with a context whose logger names the controller and the key, and
// which ends when the process stops or the key is no longer owned (cause ErrUnowned); it
// must return soon then, and whatever error it returns counts for nothing. An error that
// wraps a conflict (apierrors.IsConflict) means that the caller acted on an outdated
// object: the key is tried again at once. Other errors are logged, and retried with backoff
// unless they are Terminal.
type Reconciler[K comparable] interface {
	Reconcile(ctx context.Context, key K) (Result, error)
}

// ReconcilerFunc makes a Reconciler of a function.
type ReconcilerFunc[K comparable] func(ctx context.Context, key K) (Result, error)

// Reconcile calls f.
func (f ReconcilerFunc[K]) Reconcile(ctx context.Context, key K) (Result, error) { return f(ctx, key) }

// Options are the settings of a Controller. The functions of the key are called with the
// queue locked: they must be quick and must not call the Controller.
type Options[K comparable] struct {
	// Name of the controller in logs and metrics. Required.
	Name string
	// Workers is how many keys are in work at once. Default 1.
	Workers int
	// Reconciler does the work. Required.
	Reconciler Reconciler[K]

	// InitialBackoff is the delay after the first failure of a key, which doubles with each
	// failure in a row up to MaxBackoff. Defaults: 1s and 5m.
	InitialBackoff, MaxBackoff time.Duration
	// Backoff gives InitialBackoff and MaxBackoff of one key, where keys differ; a zero
	// stands for the field above. Unlike the other functions it is called without the lock.
	Backoff func(key K) (initial, max time.Duration)

	// Owned says whether this process works on the key; nil: on all. Whoever changes what it
	// says calls DropUnowned after a loss, and enqueues the keys of what was gained.
	Owned func(key K) bool
	// GroupOf names the group of a key, such as its cluster, so that the many keys of one
	// group cannot starve the others; nil: all keys are one group.
	GroupOf func(key K) string
	// GroupLimit is how many keys of one group are in work at once, so that a group whose
	// keys take long cannot take every worker; 0: no limit.
	GroupLimit int

	// Rest is how many times as long as the work on it took, but no longer than maxRest, a key
	// rests before it is worked on again for a change that came meanwhile, so that a stream of
	// changes to something large cannot keep the process busy; 0: not at all. What a person
	// asked for does not wait.
	Rest float64

	// Clock is the time; nil: the real one.
	Clock clock.WithTicker
	// KeyLog gives the key/value pairs that name the key in logs; nil: "key" and the key.
	KeyLog func(key K) []any
	// Registerer receives the metrics; nil: they are exposed nowhere. All controllers of a
	// process may share one.
	Registerer prometheus.Registerer
}

// Controller reconciles keys with a set of workers. Its methods may be called at any time
// and from several goroutines.
type Controller[K comparable] struct {
	o       Options[K]
	queue   *queue[K]
	metrics *metrics
	started atomic.Bool
}

// New makes a Controller; Run starts it. What is enqueued before Run waits for it. It
// panics when the name or the reconciler is missing, which is a mistake of the program.
func New[K comparable](o Options[K]) *Controller[K] {
	if o.Name == "" || o.Reconciler == nil {
		panic("base: a controller needs a name and a reconciler")
	}
	o.Workers = max(o.Workers, 1)
	if o.InitialBackoff <= 0 {
		o.InitialBackoff = defaultInitialBackoff
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = defaultMaxBackoff
	}
	if o.Owned == nil {
		o.Owned = func(K) bool { return true }
	}
	if o.GroupOf == nil {
		o.GroupOf = func(K) string { return "" }
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.KeyLog == nil {
		o.KeyLog = func(key K) []any { return []any{"key", key} }
	}
	m := newMetrics(o.Registerer, o.Name)
	return &Controller[K]{o: o, metrics: m, queue: newQueue(&o, m)}
}

// Name returns the name of the controller.
func (c *Controller[K]) Name() string { return c.o.Name }

// Enqueue has the key reconciled as soon as a worker is free. A key that waits already is
// not enqueued twice, but promoted if p is higher.
func (c *Controller[K]) Enqueue(key K, p Priority) { c.queue.add(key, p) }

// EnqueueAfter enqueues the key as a change when d is over, unless it is reconciled before
// that: a reconcile that begins does away with the timer, since its Result says anew when
// the next one is due. Of two timers of a key the earlier stands.
func (c *Controller[K]) EnqueueAfter(key K, d time.Duration) {
	c.queue.addAfter(key, d, PriorityChange)
}

// DropUnowned takes every key that Options.Owned disowns out of the queue, ends the
// contexts of the reconciles of such keys, and waits until these have returned, also when
// the controller is told to end meanwhile: what they write last is to be written before
// others may own the keys.
func (c *Controller[K]) DropUnowned() {
	for _, finished := range c.queue.dropUnowned() {
		<-finished
	}
}

// Run works on keys until ctx ends, and returns when every reconcile has returned. It can
// be called once; a second call is an error.
func (c *Controller[K]) Run(ctx context.Context) error {
	if !c.started.CompareAndSwap(false, true) {
		return errors.New("controller " + c.o.Name + " was started before")
	}
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "controller", c.o.Name)
	ctx = klog.NewContext(ctx, logger)
	logger.Info("Starting controller", "workers", c.o.Workers)

	var wg sync.WaitGroup
	wg.Go(c.queue.runTimers)
	for range c.o.Workers {
		wg.Go(func() {
			for c.work(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.shutDown()
	wg.Wait()
	logger.Info("Controller stopped")
	return nil
}
