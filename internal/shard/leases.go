// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// AnnotationShards on each Lease is the number of shards with which its holder was started.
const AnnotationShards = "convoy.kumodo.io/shards"

// sighting is a Lease as this process saw it last.
type sighting struct {
	lease   *coordinationv1.Lease // read only
	since   time.Time             // when it was first seen in this state
	changed bool                  // it was seen to change: its holder lives
	gone    bool                  // it was deleted since
}

// holder is the identity of the holder, "" if there is none.
func (s sighting) holder() string { return holderOf(s.lease) }

func holderOf(lease *coordinationv1.Lease) string {
	if lease == nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// end is when the Lease may be taken from its holder if it does not change before.
func (s sighting) end(fallback time.Duration) time.Time {
	if seconds := ptr.Deref(s.lease.Spec.LeaseDurationSeconds, 0); seconds > 0 {
		return s.since.Add(time.Duration(seconds) * time.Second)
	}
	return s.since.Add(fallback)
}

// live says whether the Lease has a holder whose time has not run out.
func (m *Manager) live(s sighting) bool {
	return s.holder() != "" && m.clock.Now().Before(s.end(m.o.LeaseDuration))
}

// observe looks at what the informer holds. A shard's Lease that was deleted while it was
// held is remembered, for its holder may not know yet.
func (m *Manager) observe() {
	now := m.clock.Now()
	present := map[string]bool{}
	for _, obj := range m.informer.GetStore().List() {
		lease, ok := obj.(*coordinationv1.Lease)
		if !ok {
			continue
		}
		present[lease.Name] = true
		before, known := m.seen[lease.Name]
		if !known || before.gone || before.lease.ResourceVersion != lease.ResourceVersion {
			m.seen[lease.Name] = sighting{lease: lease, since: now, changed: known && before.holder() != ""}
			if holderOf(lease) != m.o.Identity {
				m.doubt(lease.Name)
			}
		}
	}
	for name, s := range m.seen {
		if present[name] {
			continue
		}
		if t := m.tenureOf(name); t != nil && t.lease.UID == s.lease.UID && !s.gone {
			m.doubt(name)
		}
		if _, isShard := m.shardOf(name); isShard && m.live(s) {
			s.gone = true
			m.seen[name] = s
		} else {
			delete(m.seen, name)
		}
	}
}

// tenureOf is what this replica holds under the name of a Lease, nil if it does not.
func (m *Manager) tenureOf(name string) *tenure {
	if shard, ok := m.shardOf(name); ok {
		return m.tenures[shard]
	}
	if name == memberName(m.o.Component, m.o.Identity) {
		return m.member
	}
	return nil
}

// doubt has a Lease renewed at once, if it is held: somebody else has deleted or written it,
// or wrote it before this replica took it.
func (m *Manager) doubt(name string) {
	if t := m.tenureOf(name); t != nil {
		t.doubted = true
	}
}

func memberName(component, identity string) string { return component + "-member-" + identity }

func (m *Manager) leaseName(shard int) string { return m.o.Component + "-" + strconv.Itoa(shard) }

// shardOf is the shard of which this is the name of the Lease. It may be beyond the number
// of shards, when that was larger once.
func (m *Manager) shardOf(name string) (shard int, ok bool) {
	number, ok := strings.CutPrefix(name, m.o.Component+"-")
	shard, err := strconv.Atoi(number)
	return shard, ok && err == nil && shard >= 0
}

// memberOf is the replica of this component whose membership Lease has this name.
func (m *Manager) memberOf(name string) (identity string, ok bool) {
	return strings.CutPrefix(name, memberName(m.o.Component, ""))
}

// own says whether the Lease is, or was in a former life, this replica's.
func (m *Manager) own(name string, s sighting) bool {
	_, isShard := m.shardOf(name)
	_, isMember := m.memberOf(name)
	return (isShard || isMember) && s.holder() == m.o.Identity
}

// tenure is a Lease that this replica holds. A shard's tenure goes through these states:
// working, leaving (the subscribers stop the work), drained (they have), and is removed
// when the Lease is given up or has expired.
type tenure struct {
	lease   *coordinationv1.Lease // as the API server returned it last
	renewed time.Time             // just before the last successful write was sent
	until   time.Time             // when the work must have ended; of shards only
	doubted bool                  // the Lease may be another's or gone
	leaving bool
	drained bool
	expired bool // the Lease is no longer ours
}

// renewEvery, deadline: see Options.LeaseDuration.
func (m *Manager) renewEvery() time.Duration { return m.o.LeaseDuration / 3 }
func (m *Manager) deadline() time.Duration   { return m.o.LeaseDuration / 3 * 2 }

// retryEvery is how long to wait after a request that failed.
func (m *Manager) retryEvery() time.Duration { return m.o.LeaseDuration / 15 }

// stamp makes the Lease this replica's at this time.
func (m *Manager) stamp(lease *coordinationv1.Lease, now time.Time) {
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[AnnotationShards] = strconv.Itoa(m.o.Shards)
	if holderOf(lease) != m.o.Identity {
		lease.Spec.AcquireTime = ptr.To(metav1.NewMicroTime(now))
		lease.Spec.LeaseTransitions = ptr.To(ptr.Deref(lease.Spec.LeaseTransitions, 0) + 1)
	}
	lease.Spec.HolderIdentity = ptr.To(m.o.Identity)
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(m.o.LeaseDuration / time.Second))
	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
}

// acquire takes the Lease of this name; from is its present state, nil if there is none.
// The resource version of from sees to it that only one replica succeeds.
func (m *Manager) acquire(ctx context.Context, name string, from *coordinationv1.Lease) (*tenure, error) {
	now := m.clock.Now()
	var lease *coordinationv1.Lease
	var err error
	if from == nil {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: m.o.Namespace}}
		m.stamp(lease, now)
		lease, err = m.client.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		lease = from.DeepCopy()
		m.stamp(lease, now)
		lease, err = m.client.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("acquire Lease %s/%s: %w", m.o.Namespace, name, err)
	}
	return &tenure{lease: lease, renewed: now}, nil
}

// renewTries is how often a Lease is looked at again because somebody wrote it meanwhile.
const renewTries = 3

// renew renews the Lease of a tenure. When it finds that the Lease of a shard is another's,
// or may have been, the tenure has expired; other errors leave it as it was. The Lease of
// the membership is nobody else's, whatever is written in it.
func (m *Manager) renew(ctx context.Context, t *tenure) error {
	name, from := t.lease.Name, t.lease
	_, isShard := m.shardOf(name)
	var failure error
	for range renewTries {
		renewed, err := m.acquire(ctx, name, from)
		if err == nil {
			if from == nil {
				klog.FromContext(ctx).Info("Made a Lease again that was deleted while it was held", "lease", klog.KRef(m.o.Namespace, name))
			}
			t.lease, t.renewed, t.doubted = renewed.lease, renewed.renewed, false
			return nil
		}
		failure = fmt.Errorf("renew Lease %s/%s: %w", m.o.Namespace, name, err)
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			return failure
		}
		// Somebody wrote or deleted it, or this replica wrote it and never saw the answer. An
		// update of a Lease that was deleted is answered with a conflict as well.
		from, err = m.client.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) && isShard && !m.clock.Now().Before(t.until):
			t.expired = true
			return fmt.Errorf("Lease %s/%s was deleted after its time had run out: another may have had it", m.o.Namespace, name)
		case apierrors.IsNotFound(err):
			from = nil
		case err != nil:
			return fmt.Errorf("renew Lease %s/%s: %w", m.o.Namespace, name, err)
		case isShard && holderOf(from) != m.o.Identity:
			t.expired = true
			return fmt.Errorf("Lease %s/%s was taken by %q", m.o.Namespace, name, holderOf(from))
		}
	}
	return failure
}

// release gives the Lease of a tenure up, so that another replica may take it at once.
func (m *Manager) release(ctx context.Context, t *tenure) error {
	lease := t.lease.DeepCopy()
	lease.Spec.HolderIdentity = nil
	_, err := m.client.Update(ctx, lease, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		var current *coordinationv1.Lease
		current, err = m.client.Get(ctx, lease.Name, metav1.GetOptions{})
		if err != nil || holderOf(current) != m.o.Identity {
			return ignoreNotFound(err)
		}
		current.Spec.HolderIdentity = nil
		_, err = m.client.Update(ctx, current, metav1.UpdateOptions{})
	}
	return ignoreNotFound(err)
}

// remove deletes a Lease in the state in which it was seen.
func (m *Manager) remove(ctx context.Context, lease *coordinationv1.Lease) error {
	return ignoreNotFound(m.client.Delete(ctx, lease.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion},
	}))
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// failed notes that a request is to be tried again. Losing a race is no failure.
func (m *Manager) failed(ctx context.Context, err error, what string) {
	m.retry = m.clock.Now().Add(m.retryEvery())
	logger := klog.FromContext(ctx)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		logger.V(4).Info(what+", another was faster", "err", err)
		return
	}
	logger.Error(err, what)
}
