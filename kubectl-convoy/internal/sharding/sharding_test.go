// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var now = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// lease is one that was renewed so long ago.
func lease(name, holder, shards string, ago time.Duration) coordinationv1.Lease {
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationShards: shards}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder), RenewTime: &metav1.MicroTime{Time: now.Add(-ago)}},
	}
}

// owned are the Leases of two shards of a component, with one replica for each.
func owned(prefix string) []coordinationv1.Lease {
	return []coordinationv1.Lease{
		lease(prefix+"-member-a", "a", "2", time.Second), lease(prefix+"-member-b", "b", "2", 2*time.Second),
		lease(prefix+"-0", "a", "2", time.Second), lease(prefix+"-1", "b", "2", time.Second),
	}
}

func TestLook(t *testing.T) {
	g := NewWithT(t)
	report := Look(Facts{
		Now: now, Leases: append(owned("convoy-cm"), append(owned("convoy-obs"), lease("someone-else", "x", "", 0))...),
		Clusters: []Cluster{{"team", "big", 0, 80}, {"team", "small", 0, 10}, {"team", "other", 1, 10}, {"team", "new", -1, 0}},
		Releases: map[int]int{0: 90, 1: 10},
	})
	g.Expect(report.Problems).To(BeEmpty())
	g.Expect(report.Shards).To(Equal([]Shard{
		{0, map[string]string{"convoy-controller-manager": "a", "convoy-observer": "a"}, 2, 90, &Cluster{"team", "big", 0, 80}},
		{1, map[string]string{"convoy-controller-manager": "b", "convoy-observer": "b"}, 1, 10, &Cluster{"team", "other", 1, 10}},
	}))
	g.Expect(report.Replicas).To(HaveLen(4))
	g.Expect(report.Replicas[0]).To(Equal(Replica{"convoy-controller-manager", "a", []int{0}, 90, 180, metav1.NewTime(now.Add(-time.Second))}))
	g.Expect(report.Replicas[1].OfMean).To(Equal(20))
	g.Expect(report.Heavy).To(Equal([]Cluster{{"team", "big", 0, 80}}))
}

func TestProblems(t *testing.T) {
	change := func(of []coordinationv1.Lease, name string, how func(*coordinationv1.Lease)) []coordinationv1.Lease {
		for i := range of {
			if of[i].Name == name {
				how(&of[i])
			}
		}
		return of
	}
	manager, observer := "convoy-controller-manager", "convoy-observer"
	for _, test := range []struct {
		name   string
		leases []coordinationv1.Lease
		want   []Problem
	}{
		{"none", append(owned("convoy-cm"), owned("convoy-obs")...), []Problem{}},
		{"no replicas", owned("convoy-cm"), []Problem{{observer, "no replica has been heard of for 1m0s"}}},
		{
			"a replica that was killed", append(owned("convoy-cm"), change(change(owned("convoy-obs"), "convoy-obs-member-b", func(l *coordinationv1.Lease) {
				l.Spec.RenewTime.Time = now.Add(-2 * time.Minute)
			}), "convoy-obs-1", func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = now.Add(-2 * time.Minute) })...),
			[]Problem{{observer, "nobody works on shard 1"}},
		},
		{
			"a shard that was given up", append(owned("convoy-obs"), change(owned("convoy-cm"), "convoy-cm-0", func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil })...),
			[]Problem{{manager, "nobody works on shard 0"}},
		},
		{
			"different numbers", append(owned("convoy-obs"), change(owned("convoy-cm"), "convoy-cm-member-b", func(l *coordinationv1.Lease) {
				l.Annotations[annotationShards] = "1"
			})...),
			[]Problem{{manager, "b was started with --shards=1, but there are 2 by other replicas or by labels"}},
		},
		{"nothing", nil, []Problem{{manager, "no replica has been heard of for 1m0s"}, {observer, "no replica has been heard of for 1m0s"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			NewWithT(t).Expect(Look(Facts{Now: now, Leases: test.leases}).Problems).To(Equal(test.want))
		})
	}
}

func TestOneReplicaHasNoHeavyClusters(t *testing.T) {
	leases := []coordinationv1.Lease{lease("convoy-cm-member-a", "a", "1", 0), lease("convoy-cm-0", "a", "1", 0)}
	report := Look(Facts{Now: now, Leases: leases, Clusters: []Cluster{{"team", "big", 0, 80}}, Releases: map[int]int{0: 80}})
	NewWithT(t).Expect(report.Heavy).To(BeEmpty())
}
