// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"

	"k8s.io/klog/v2"
)

// member is the cache of one kind.
type member interface {
	Begin(ctx context.Context, shard int, shown bool) (whole <-chan struct{})
	Show(shard int)
	End(shard int)
	Wait()
	Name() string
	Len() int
}

// Set has the objects of some shards in the caches of several kinds.
type Set struct {
	members []member
	waiting sync.WaitGroup

	// turn lets one shard after the other be begun, shown and ended.
	turn  sync.Mutex
	begun map[int]context.CancelFunc

	// mu is for readers, among them the handlers of what is shown.
	mu   sync.RWMutex
	held map[int]bool
}

// newSet makes a Set of caches. Of a shard, what is in the first is shown first.
func newSet(members ...member) *Set {
	return &Set{members: members, begun: map[int]context.CancelFunc{}, held: map[int]bool{}}
}

// Gain begins to hold a shard. When everything that is in it is known, it is shown, Holds
// becomes true, and whole is called; unless the shard is lost, or ctx ends, before.
func (s *Set) Gain(ctx context.Context, shard int, whole func()) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.begun[shard] != nil {
		return
	}
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, klog.FromContext(ctx).WithValues("shard", shard)))
	s.begun[shard] = cancel
	var known []<-chan struct{}
	for _, m := range s.members {
		known = append(known, m.Begin(ctx, shard, false))
	}
	s.waiting.Go(func() {
		for _, one := range known {
			select {
			case <-one:
			case <-ctx.Done():
				return
			}
		}
		if s.show(ctx, shard) {
			whole()
		}
	})
}

// show shows a shard, unless it was lost meanwhile.
func (s *Set) show(ctx context.Context, shard int) bool {
	s.turn.Lock()
	defer s.turn.Unlock()
	if ctx.Err() != nil {
		return false
	}
	for _, m := range s.members {
		m.Show(shard)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[shard] = true
	klog.FromContext(ctx).V(2).Info("All objects of a shard are in the cache")
	return true
}

// Lose forgets what is in shards, the work on which must have ended, and gives the memory back.
func (s *Set) Lose(shards ...int) {
	s.turn.Lock()
	defer s.turn.Unlock()
	lost := false
	for _, shard := range shards {
		if cancel := s.begun[shard]; cancel != nil {
			cancel()
			s.forget(shard)
			lost = true
		}
	}
	if lost {
		s.waiting.Go(debug.FreeOSMemory)
	}
}

// forget is for who has the turn.
func (s *Set) forget(shard int) {
	delete(s.begun, shard)
	s.mu.Lock()
	delete(s.held, shard)
	s.mu.Unlock()
	for _, m := range slices.Backward(s.members) {
		m.End(shard)
	}
}

// Holds tells whether everything that is in a shard is in the caches.
func (s *Set) Holds(shard int) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.held[shard]
}

// Stop ends all watches and returns when they have ended. Nothing is gained afterwards.
func (s *Set) Stop() {
	s.turn.Lock()
	for _, cancel := range s.begun {
		cancel()
	}
	s.turn.Unlock()
	s.waiting.Wait()
	for _, m := range s.members {
		m.Wait()
	}
}
