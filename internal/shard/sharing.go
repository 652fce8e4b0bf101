// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// ErrShardsDiffer is wrapped by the error of Run when another process was started with
// another number of shards.
var ErrShardsDiffer = errors.New("processes with different numbers of shards")

// renewShards renews the Leases that are due, all at once, so that a slow answer for one
// does not cost another its time.
func (m *Manager) renewShards(ctx context.Context) {
	now := m.clock.Now()
	errs := map[int]*error{}
	var wg sync.WaitGroup
	for shard, t := range m.tenures {
		if t.expired || t.drained || !m.renewalDue(t, now) {
			continue
		}
		err := new(error)
		errs[shard] = err
		wg.Go(func() { *err = m.renew(ctx, t) })
	}
	wg.Wait()
	for _, err := range errs {
		if *err != nil {
			m.failed(ctx, *err, "Could not renew the Lease of a shard")
		}
	}
}

func (m *Manager) renewalDue(t *tenure, now time.Time) bool {
	return t.doubted || !now.Before(t.renewed.Add(m.renewEvery()))
}

// tendMember keeps this replica known to the others while it takes part, and takes its
// membership away as the first thing when it stops.
func (m *Manager) tendMember(ctx context.Context, stopping bool) {
	var err error
	name := memberName(m.o.Component, m.o.Identity)
	switch {
	case stopping && m.member != nil:
		// The others would find out by themselves when the time has run out.
		giveUp := m.member.renewed.Add(m.deadline())
		err = ignoreNotFound(m.client.Delete(ctx, name, metav1.DeleteOptions{}))
		if err == nil || !m.clock.Now().Before(giveUp) {
			m.member = nil
		}
	case stopping || !m.joined:
	case m.member == nil:
		var member *tenure
		if member, err = m.acquire(ctx, name, m.seen[name].lease); err == nil {
			m.member = member
		}
	case m.renewalDue(m.member, m.clock.Now()):
		err = m.renew(ctx, m.member)
	}
	if err != nil {
		m.failed(ctx, err, "Could not make this replica known, or no longer known, to the others")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.announced = time.Time{}
	if m.member != nil {
		m.announced = m.member.renewed
	}
}

// expire ends the tenures whose Leases could not be renewed in time or are another's, and
// returns the shards that were worked on until now. The others go on for as long as their
// Leases were renewed for. One whose time ran out is over even if its Lease was renewed
// after all: Owns has said no meanwhile, and what was not done for that is made up for when
// the shard is gained again.
func (m *Manager) expire(ctx context.Context) (lost []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	for shard, t := range m.tenures {
		if !t.expired && now.Before(t.until) {
			t.until = t.renewed.Add(m.deadline())
			continue
		}
		t.expired = true
		if t.until.After(now) {
			t.until = now
		}
		if !t.leaving {
			klog.FromContext(ctx).Error(nil, "Lost a shard", "shard", shard, "lastRenewed", t.renewed)
			t.leaving = true
			lost = append(lost, shard)
		}
	}
	m.publish()
	return lost
}

// releaseDrained gives up the Leases of shards on which the work has stopped.
func (m *Manager) releaseDrained(ctx context.Context) {
	m.mu.Lock()
	drained := m.drained
	m.drained = nil
	m.mu.Unlock()
	for _, shard := range drained {
		m.tenures[shard].drained = true
	}
	for shard, t := range m.tenures {
		if !t.drained {
			continue
		}
		if !t.expired {
			if err := m.release(ctx, t); err != nil {
				m.failed(ctx, err, "Could not give up the Lease of a shard")
				continue
			}
		}
		delete(m.tenures, shard)
	}
}

// balance leaves shards that are more than this replica's share and takes free ones as far
// as they are less. While work on lost shards still stops none is taken, for the fence lets
// nothing be written for it.
func (m *Manager) balance(ctx context.Context, stopping bool) (gained, surplus []int) {
	var working []int
	fenced := false
	for shard, t := range m.tenures {
		if !t.leaving {
			working = append(working, shard)
		}
		fenced = fenced || t.expired && !t.drained
	}
	share := 0
	if !stopping && m.settled {
		share = m.share(len(working))
	}
	slices.Sort(working)
	for len(working) > share {
		last := len(working) - 1
		m.tenures[working[last]].leaving = true
		surplus = append(surplus, working[last])
		working = working[:last]
	}
	for shard := 0; shard < m.o.Shards && len(working)+len(gained) < share && !fenced; shard++ {
		name := m.leaseName(shard)
		s := m.seen[name]
		if m.tenures[shard] != nil || s.holder() != m.o.Identity && m.live(s) {
			continue
		}
		from := s.lease
		if s.gone {
			from = nil
		}
		t, err := m.acquire(ctx, name, from)
		if err != nil {
			m.failed(ctx, err, "Could not take a free shard")
			continue
		}
		t.until = t.renewed.Add(m.deadline())
		m.tenures[shard] = t
		gained = append(gained, shard)
	}
	return gained, surplus
}

// share is how many shards this replica, which works on so many now, should work on. Every
// replica works it out for itself from the same Leases.
func (m *Manager) share(working int) int {
	holdings := map[string]int{}
	for name, s := range m.seen {
		if identity, ok := m.memberOf(name); ok && m.live(s) && m.agrees(s) {
			holdings[identity] += 0
		}
	}
	for shard := range m.o.Shards {
		s := m.seen[m.leaseName(shard)]
		if _, member := holdings[s.holder()]; member && m.live(s) {
			holdings[s.holder()]++
		}
	}
	holdings[m.o.Identity] = working
	return fairShare(m.o.Shards, holdings, m.o.Identity)
}

// fairShare is the share of one replica. Each gets the quotient of shards and replicas; the
// remainder goes, one each, to those that hold most already, so that as few shards as
// possible change hands.
func fairShare(shards int, holdings map[string]int, identity string) int {
	replicas := slices.SortedFunc(maps.Keys(holdings), func(a, b string) int {
		return cmp.Or(cmp.Compare(holdings[b], holdings[a]), cmp.Compare(a, b))
	})
	share := shards / len(replicas)
	if slices.Index(replicas, identity) < shards%len(replicas) {
		share++
	}
	return share
}

// agrees says whether the holder of the Lease has the same number of shards.
func (m *Manager) agrees(s sighting) bool {
	shards, recorded := s.lease.Annotations[AnnotationShards]
	return !recorded || shards == strconv.Itoa(m.o.Shards)
}

// compare looks for processes with another number of shards, of this component or another.
// It is the one that comes later that refuses:
//
//   - Before this replica makes itself known, any process that keeps a Lease came earlier.
//     Whether the holder of a Lease still lives shows when it changes or runs out.
//   - When this replica sees its own membership for the first time, it also sees every one
//     that was written before, and takes no shard earlier.
//   - After that any other came later, and refuses by itself.
func (m *Manager) compare(ctx context.Context) error {
	if m.settled {
		return nil
	}
	announced := false
	if m.member != nil {
		seen := m.seen[m.member.lease.Name]
		announced = seen.lease != nil && seen.lease.ResourceVersion == m.member.lease.ResourceVersion
	}
	differing := false
	for _, name := range slices.Sorted(maps.Keys(m.seen)) {
		s := m.seen[name]
		if m.agrees(s) || m.own(name, s) || !m.live(s) {
			continue
		}
		if s.changed || announced {
			return m.refusal(name, s)
		}
		differing = true
		klog.FromContext(ctx).Info("Waiting to see whether a process with another number of shards still lives",
			"lease", klog.KRef(m.o.Namespace, name), "holder", s.holder(), "its", s.lease.Annotations[AnnotationShards], "ours", m.o.Shards)
	}
	m.joined = m.joined || !differing
	m.settled = announced
	return nil
}

func (m *Manager) refusal(name string, s sighting) error {
	return fmt.Errorf("%w: %s (%s) was started with --shards=%d, but %s, which keeps Lease %s/%s, with --shards=%s; "+
		"stop all processes with the one number before any with the other is started",
		ErrShardsDiffer, m.o.Identity, m.o.Component, m.o.Shards, s.holder(), m.o.Namespace, name, s.lease.Annotations[AnnotationShards])
}

// sweep deletes what dead replicas and a former, larger number of shards left behind.
func (m *Manager) sweep(ctx context.Context) {
	if !m.settled || m.member == nil {
		return
	}
	for name, s := range m.seen {
		_, isMember := m.memberOf(name)
		shard, isShard := m.shardOf(name)
		if s.gone || m.live(s) || name == m.member.lease.Name || !isMember && (!isShard || shard < m.o.Shards) {
			continue
		}
		if err := m.remove(ctx, s.lease); err != nil {
			m.failed(ctx, err, "Could not delete a Lease that nobody needs")
			continue
		}
		delete(m.seen, name)
	}
}

// patience is how long the requests of a pass may take: no longer than until a tenure must
// end, so that the loop is there to end it.
func (m *Manager) patience() time.Duration {
	patience, now := m.renewEvery(), m.clock.Now()
	for _, t := range m.tenures {
		if !t.expired {
			patience = min(patience, t.until.Sub(now))
		}
	}
	return max(patience, time.Millisecond)
}

// overdue says whether a renewal became due while the last pass was under way.
func (m *Manager) overdue(now time.Time) bool {
	for _, t := range m.tenures {
		if !t.expired && !t.drained && m.renewalDue(t, now) {
			return true
		}
	}
	return m.member != nil && m.renewalDue(m.member, now)
}

// due is the time until the next pass if no event comes before.
func (m *Manager) due() time.Duration {
	now := m.clock.Now()
	due := now.Add(m.o.LeaseDuration)
	consider := func(t time.Time) {
		if t.After(now) && t.Before(due) {
			due = t
		}
	}
	consider(m.retry)
	if m.retry.IsZero() && m.overdue(now) {
		return 0
	}
	if m.member != nil {
		consider(m.member.renewed.Add(m.renewEvery()))
	}
	for _, t := range m.tenures {
		consider(t.renewed.Add(m.renewEvery()))
		consider(t.until)
	}
	for _, s := range m.seen {
		if s.holder() != m.o.Identity {
			consider(s.end(m.o.LeaseDuration))
		}
	}
	return due.Sub(now)
}
