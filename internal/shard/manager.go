// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/informers/coordination/v1"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// DefaultLeaseDuration is how long a replica may be silent before others take its shards.
	DefaultLeaseDuration = 15 * time.Second
	// DefaultNamespace is where the Leases are.
	DefaultNamespace = "convoy-system"
)

// Options are the settings of a Manager.
type Options struct {
	// Client of the host cluster, for get, list, watch, create, update and delete of Leases
	// in Namespace. Required.
	Client kubernetes.Interface
	// Namespace of the Leases. Default DefaultNamespace.
	Namespace string
	// Component is the name of what is replicated, such as "convoy-cm"; the Leases are
	// <component>-<shard> and <component>-member-<identity>. Required.
	Component string
	// Identity of this replica among those of the component. A replica that starts under the
	// identity of one that died takes its shards back without waiting, so no two that may
	// live at once can have the same. Required; lower-case DNS name.
	Identity string
	// Shards is the number of shards, 1 or more; it must be the same in every process that
	// keeps Leases in Namespace.
	Shards int
	// LeaseDuration is how long others wait for a silent replica before they take its
	// shards, in whole seconds. A replica that could not renew a Lease stops work on the
	// shard after two thirds of it, and renews it every third. Default DefaultLeaseDuration.
	LeaseDuration time.Duration
	// Fence is told until when this replica may work; nil: there is none. It stands in the
	// transports of everything that is written in the work on shards, and not in Client's.
	Fence *Fence
	// Clock is the time; nil: the real one.
	Clock clock.WithTicker
	// Registerer receives the metrics; nil: they are exposed nowhere.
	Registerer prometheus.Registerer
}

// Manager holds a fair share of a component's shards for this replica. Each shard is held
// by one replica at most: a shard changes hands only after the former holder has stopped
// the work on it and given the Lease up, or was silent for the whole lease duration, in
// which case it stopped the work itself before, when it could not renew the Lease in time;
// what it had not stopped yet, the Fence keeps from being written.
//
// No replica compares its clock with another's: how long a Lease has been silent is counted
// from the moment at which this process saw it change.
type Manager struct {
	o        Options
	clock    clock.WithTicker
	client   coordinationclient.LeaseInterface
	informer cache.SharedIndexInformer
	wake     chan struct{} // there may be something to do
	gauge    prometheus.Gauge

	mu          sync.RWMutex
	held        map[int]time.Time // shards to work on -> until when, unless renewed
	ending      time.Time         // the earliest such time, also of shards on which the work still stops; zero: none
	announced   time.Time         // when this replica's membership was last renewed
	subscribers []func(gained, lost []int)
	changes     []change // that subscribers have not been told yet
	telling     bool     // a goroutine is telling them
	drained     []int    // lost shards of which subscribers have been told

	// What follows belongs to the goroutine of Run.
	seen    map[string]sighting // Leases in the namespace, by name
	member  *tenure             // of this replica's membership
	tenures map[int]*tenure     // of shards
	joined  bool                // nothing speaks against a membership
	settled bool                // nor against taking shards
	retry   time.Time           // when to try again what failed; zero: nothing did
}

// NewManager makes a Manager; Run starts it. It returns an error for settings that are
// missing or invalid.
func NewManager(o Options) (*Manager, error) {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.LeaseDuration == 0 {
		o.LeaseDuration = DefaultLeaseDuration
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("shard manager: %w", err)
	}
	m := &Manager{
		o:       o,
		clock:   o.Clock,
		client:  o.Client.CoordinationV1().Leases(o.Namespace),
		wake:    make(chan struct{}, 1),
		held:    map[int]time.Time{},
		seen:    map[string]sighting{},
		tenures: map[int]*tenure{},
	}
	if err := m.register(o.Registerer); err != nil {
		return nil, fmt.Errorf("shard manager: %w", err)
	}
	m.informer = v1.NewLeaseInformer(o.Client, o.Namespace, 0, cache.Indexers{})
	wake := func(any) { m.poke() }
	_, err := m.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: wake, DeleteFunc: wake, UpdateFunc: func(any, any) { m.poke() },
	})
	if o.Fence != nil {
		o.Fence.manager.Store(m)
	}
	return m, err
}

func (o *Options) validate() error {
	var errs []error
	if o.Client == nil {
		errs = append(errs, errors.New("a client is required"))
	}
	if o.Shards < 1 {
		errs = append(errs, fmt.Errorf("the number of shards is %d, it must be 1 or more", o.Shards))
	}
	if o.Component == "" || o.Identity == "" {
		errs = append(errs, errors.New("component and identity are required"))
	} else if problems := validation.IsDNS1123Subdomain(memberName(o.Component, o.Identity)); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("%q cannot be the name of a Lease: %s",
			memberName(o.Component, o.Identity), strings.Join(problems, "; ")))
	}
	if o.LeaseDuration < time.Second || o.LeaseDuration%time.Second != 0 {
		errs = append(errs, fmt.Errorf("the lease duration is %s, it must be in whole seconds", o.LeaseDuration))
	}
	return errors.Join(errs...)
}

func (m *Manager) register(r prometheus.Registerer) error {
	labels := prometheus.Labels{"component": m.o.Component}
	m.gauge = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "convoy_shards_owned", ConstLabels: labels,
		Help: "Shards that this replica works on.",
	})
	total := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "convoy_shards", ConstLabels: labels,
		Help: "Shards in all; the same in every process of an installation.",
	})
	total.Set(float64(m.o.Shards))
	if r == nil {
		return nil
	}
	return errors.Join(r.Register(m.gauge), r.Register(total))
}

// Shards returns the number of shards in all.
func (m *Manager) Shards() int { return m.o.Shards }

// Owns says whether this replica works on the shard now. It is false for a shard whose
// Lease could not be renewed in time, even before Subscribe's functions are told.
func (m *Manager) Owns(shard int) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	until, held := m.held[shard]
	return held && m.clock.Now().Before(until)
}

// OwnsKey says whether this replica works on the shard of the key now.
func (m *Manager) OwnsKey(key string) bool { return m.Owns(Of(key, m.o.Shards)) }

// Owned returns the shards that this replica works on now, in ascending order.
func (m *Manager) Owned() []int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := m.clock.Now()
	owned := make([]int, 0, len(m.held))
	for _, shard := range slices.Sorted(maps.Keys(m.held)) {
		if now.Before(m.held[shard]) {
			owned = append(owned, shard)
		}
	}
	return owned
}

// Subscribe has f called after each change of what is owned, one change at a time and in
// order. When f is called for lost shards, Owns is false for them already; f stops the work
// on them and returns when it has stopped, for a Lease that is given up in favour of
// another replica is kept until then. When f is called for gained shards, Owns is true
// already, and f enqueues everything that belongs to them. Subscribe before Run.
func (m *Manager) Subscribe(f func(gained, lost []int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subscribers = append(m.subscribers, f)
}

// Check is a readiness check: it returns an error while this replica takes no part in the
// sharing, because it has only started, stops, or cannot renew its membership.
func (m *Manager) Check(context.Context) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch {
	case m.announced.IsZero():
		return errors.New("not yet taking part in the sharing of shards")
	case m.clock.Since(m.announced) >= m.deadline():
		return errors.New("the membership Lease could not be renewed")
	}
	return nil
}

// Run takes part in the sharing until ctx ends, then gives all shards up as soon as the
// subscribers have stopped the work on them, and returns nil. It returns an error that
// wraps ErrShardsDiffer when another process has another number of shards; what was held is
// given up in the same way before. Run can be called once.
func (m *Manager) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx).WithValues("component", m.o.Component, "identity", m.o.Identity)
	logger.Info("Taking part in the sharing of shards", "shards", m.o.Shards, "leaseDuration", m.o.LeaseDuration)

	// The Leases are tended until all of them are given up, so beyond the end of ctx.
	tending, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logger))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { m.informer.RunWithContext(tending) })
	if !cache.WaitForCacheSync(ctx.Done(), m.informer.HasSynced) {
		return nil
	}
	return m.tend(tending, ctx.Done(), &wg)
}

// tend is the loop of Run.
func (m *Manager) tend(ctx context.Context, done <-chan struct{}, wg *sync.WaitGroup) error {
	var failure error
	stopping := false
	for {
		m.observe()
		// First of all, and before anything is sent: this process may have been paused.
		m.record(ctx, nil, m.expire(ctx))
		m.tell(wg)
		if !stopping {
			failure = m.compare(ctx)
			stopping = failure != nil
		}
		m.pass(ctx, stopping)
		m.tell(wg)
		if stopping && m.member == nil && len(m.tenures) == 0 {
			return failure
		}
		timer := m.clock.NewTimer(m.due())
		select {
		case <-done:
			done, stopping = nil, true
		case <-m.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// pass does once what is to be done now.
func (m *Manager) pass(ctx context.Context, stopping bool) {
	m.retry = time.Time{}
	requests, cancel := context.WithTimeout(ctx, m.patience())
	defer cancel()
	m.renewShards(requests)
	lost := m.expire(ctx)
	m.tendMember(requests, stopping)
	m.releaseDrained(requests)
	gained, surplus := m.balance(requests, stopping)
	if !stopping {
		m.sweep(requests)
	}
	m.record(ctx, gained, append(lost, surplus...))
}

// poke makes the loop look again.
func (m *Manager) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
