// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

// world is the Leases of one API server, which are written with optimistic concurrency as
// there, and the replicas that share them. It runs in a synctest bubble: time stands still
// until every goroutine waits for it.
type world struct {
	t        *testing.T
	mu       sync.Mutex
	tracker  clienttesting.ObjectTracker
	version  int
	replicas []*replica
}

// replica is one process.
type replica struct {
	*Manager
	cut     atomic.Bool   // its requests fail
	hang    atomic.Bool   // its updates wait for resume
	resume  chan struct{} // closed at the end of the hanging
	slow    time.Duration // how long it takes to become a member
	logger  klog.Logger
	stop    context.CancelFunc
	stopped chan struct{}
	err     error // of Run

	mu      sync.Mutex
	drain   time.Duration // how long the work on lost shards takes to stop
	working map[int]bool  // shards that are worked on, also while the work stops
}

// inWorld runs test in a bubble. Ten times a second no two replicas may work on one shard.
func inWorld(t *testing.T, test func(g *WithT, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, tracker: clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())}
		over := make(chan struct{})
		watching := make(chan struct{})
		go func() {
			defer close(watching)
			ticker := time.NewTicker(100 * time.Millisecond)
			defer ticker.Stop()
			for {
				select {
				case <-over:
					return
				case <-ticker.C:
					w.check()
				}
			}
		}()
		test(NewWithT(t), w)
		for _, r := range w.all() {
			r.cut.Store(false)
			r.stop()
			<-r.stopped
		}
		close(over)
		<-watching
	})
}

func (w *world) all() []*replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.replicas)
}

func (w *world) check() {
	owner, worker := map[int]string{}, map[int]string{}
	for _, r := range w.all() {
		for _, shard := range r.Owned() {
			if other, taken := owner[shard]; taken {
				w.t.Errorf("%s: shard %d is owned by %s and %s", time.Now().Format(time.TimeOnly), shard, other, r.o.Identity)
			}
			owner[shard] = r.o.Identity
		}
		if r.o.Fence.Check() != nil {
			continue // whatever is under way writes nothing
		}
		for _, shard := range r.works() {
			if other, taken := worker[shard]; taken {
				w.t.Errorf("%s: shard %d is worked on by %s and %s", time.Now().Format(time.TimeOnly), shard, other, r.o.Identity)
			}
			worker[shard] = r.o.Identity
		}
	}
}

// start starts a replica of convoy-cm.
func (w *world) start(identity string, shards int, options ...func(*replica, *Options)) *replica {
	w.t.Helper()
	r := &replica{logger: klog.Background(), working: map[int]bool{}, resume: make(chan struct{}), stopped: make(chan struct{})}
	o := Options{Component: "convoy-cm", Identity: identity, Shards: shards, Fence: &Fence{}}
	for _, option := range options {
		option(r, &o)
	}
	o.Client = hanging{w.client(r), r}
	manager, err := NewManager(o)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Manager = manager
	manager.Subscribe(r.changed)
	ctx, stop := context.WithCancel(klog.NewContext(w.t.Context(), r.logger))
	r.stop = stop
	go func() {
		defer close(r.stopped)
		r.err = manager.Run(ctx)
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replicas = append(w.replicas, r)
	return r
}

func (r *replica) changed(gained, lost []int) {
	if len(lost) > 0 {
		time.Sleep(r.drain)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, shard := range gained {
		r.working[shard] = true
	}
	for _, shard := range lost {
		delete(r.working, shard)
	}
}

// works returns the shards that are worked on, also while the work stops.
func (r *replica) works() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.working))
}

// pause stops everything that the replica does of itself at its next renewal, while time
// goes on. What it has under way beside that is the test's affair.
func (r *replica) pause() {
	r.resume = make(chan struct{})
	r.hang.Store(true)
}

// wake ends a pause.
func (r *replica) wake() {
	r.hang.Store(false)
	close(r.resume)
}

// kill ends what the others see of the replica.
func (r *replica) kill() { r.cut.Store(true) }

// hanging is a clientset whose requests wait while the replica is to hang: outside of the
// fake one, which has one request wait for the other.
type hanging struct {
	*fake.Clientset
	r *replica
}

func (h hanging) CoordinationV1() coordinationclient.CoordinationV1Interface {
	return hangingGroup{h.Clientset.CoordinationV1(), h.r}
}

type hangingGroup struct {
	coordinationclient.CoordinationV1Interface
	r *replica
}

func (h hangingGroup) Leases(namespace string) coordinationclient.LeaseInterface {
	return hangingLeases{h.CoordinationV1Interface.Leases(namespace), h.r}
}

type hangingLeases struct {
	coordinationclient.LeaseInterface
	r *replica
}

func (h hangingLeases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if h.r.hang.Load() {
		<-h.r.resume
	}
	return h.LeaseInterface.Update(ctx, lease, o)
}

// client is a clientset of one process in the world.
func (w *world) client(r *replica) *fake.Clientset {
	c := &fake.Clientset{}
	c.AddReactor("*", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if create, ok := action.(clienttesting.CreateActionImpl); ok && strings.Contains(create.Object.(*coordinationv1.Lease).Name, "-member-") {
			time.Sleep(r.slow)
		}
		if r.cut.Load() {
			return true, nil, errors.New("connection refused")
		}
		object, err := w.react(action)
		return true, object, err
	})
	c.AddWatchReactor("leases", func(action clienttesting.Action) (bool, watch.Interface, error) {
		options := action.(clienttesting.WatchActionImpl).ListOptions
		watcher, err := w.tracker.Watch(action.GetResource(), action.GetNamespace(), options)
		return true, watcher, err
	})
	return c
}

// react does what the API server does.
func (w *world) react(action clienttesting.Action) (runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	resource := action.GetResource().GroupResource()
	switch action := action.(type) {
	case clienttesting.UpdateActionImpl:
		lease := action.Object.(*coordinationv1.Lease)
		current, err := w.tracker.Get(action.Resource, action.Namespace, lease.Name)
		if apierrors.IsNotFound(err) && lease.UID != "" {
			// Leases may be created by an update, so it is the UID that does not fit.
			return nil, apierrors.NewConflict(resource, lease.Name, errors.New("the UID in the precondition is not that of the object"))
		}
		if err != nil {
			return nil, err
		}
		if current.(*coordinationv1.Lease).ResourceVersion != lease.ResourceVersion {
			return nil, apierrors.NewConflict(resource, lease.Name, errors.New("outdated"))
		}
		w.written(lease)
	case clienttesting.CreateActionImpl:
		lease := action.Object.(*coordinationv1.Lease)
		w.written(lease)
		lease.UID = types.UID(lease.ResourceVersion)
	case clienttesting.DeleteActionImpl:
		current, err := w.tracker.Get(action.Resource, action.Namespace, action.Name)
		if err != nil {
			return nil, err
		}
		if p := action.DeleteOptions.Preconditions; p != nil && *p.ResourceVersion != current.(*coordinationv1.Lease).ResourceVersion {
			return nil, apierrors.NewConflict(resource, action.Name, errors.New("outdated"))
		}
	}
	_, object, err := clienttesting.ObjectReaction(w.tracker)(action)
	return object, err
}

func (w *world) written(lease *coordinationv1.Lease) {
	w.version++
	lease.ResourceVersion = strconv.Itoa(w.version)
}

// names lists the Leases.
func (w *world) names(g *WithT) []string {
	list, err := w.client(&replica{}).CoordinationV1().Leases(DefaultNamespace).List(w.t.Context(), metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, lease := range list.Items {
		names = append(names, lease.Name)
	}
	slices.Sort(names)
	return names
}

// put writes a Lease as a process that is not in the test would.
func (w *world) put(g *WithT, name, holder, shards string) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: DefaultNamespace, Annotations: map[string]string{AnnotationShards: shards},
	}}
	seconds := int32(15)
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &holder, &seconds
	leases := w.client(&replica{}).CoordinationV1().Leases(DefaultNamespace)
	current, err := leases.Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(w.t.Context(), lease, metav1.CreateOptions{})
	} else if err == nil {
		lease.ResourceVersion = current.ResourceVersion
		_, err = leases.Update(w.t.Context(), lease, metav1.UpdateOptions{})
	}
	g.Expect(err).NotTo(HaveOccurred())
}

// counts is how many shards each replica owns, largest first.
func counts(replicas ...*replica) []int {
	var counts []int
	for _, r := range replicas {
		counts = append(counts, len(r.Owned()))
	}
	slices.SortFunc(counts, func(a, b int) int { return b - a })
	return counts
}

// within lets time pass until the condition holds, and returns how long that took.
func within(g *WithT, limit time.Duration, what string, condition func() bool) time.Duration {
	start := time.Now()
	for !condition() {
		if time.Since(start) > limit {
			g.Expect(condition()).To(BeTrue(), fmt.Sprintf("after %s: %s", limit, what))
		}
		time.Sleep(50 * time.Millisecond)
	}
	return time.Since(start)
}
