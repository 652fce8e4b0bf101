// SPDX-License-Identifier: Apache-2.0

// Package sharding says who works on which shard of an installation, and how much work that is,
// by the Leases of its controllers and the labels of its objects.
package sharding

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// annotationShards on each Lease is the number of shards with which its holder was started.
const annotationShards = "convoy.kumodo.io/shards"

// grace is after how long a Lease that was not renewed has no holder. Leases of convoy last 15
// seconds; the rest is for a clock here that differs from that of the holder.
const grace = time.Minute

// Component is a controller whose replicas share the shards among themselves.
type Component struct {
	Name   string
	leases string // what the names of its Leases begin with
}

// Components are those of an installation.
var Components = []Component{{"convoy-controller-manager", "convoy-cm-"}, {"convoy-observer", "convoy-obs-"}}

// Cluster is a Cluster with its shard, -1 when it has no label of one, and its Releases.
type Cluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Shard     int    `json:"shard"`
	Releases  int    `json:"releases"`
}

// Facts are what a report is made of.
type Facts struct {
	Leases   []coordinationv1.Lease
	Clusters []Cluster
	// Releases are how many each shard has.
	Releases map[int]int
	Now      time.Time
}

// Report says who works on which shard.
type Report struct {
	Shards   []Shard   `json:"shards"`
	Replicas []Replica `json:"replicas"`
	// Heavy are the Clusters that have more Releases than a replica's share: they cannot be divided.
	Heavy []Cluster `json:"heavyClusters"`
	// Problems are shards on which nobody works, components without replicas, and numbers of
	// shards that differ, each by the name of a component.
	Problems []Problem `json:"problems"`
}

// Shard is a shard, with who works on it by the name of the component.
type Shard struct {
	Shard    int               `json:"shard"`
	Owners   map[string]string `json:"owners"`
	Clusters int               `json:"clusters"`
	Releases int               `json:"releases"`
	// Heaviest is the Cluster with the most Releases; nil without any.
	Heaviest *Cluster `json:"heaviestCluster,omitempty"`
}

// Replica is a process of a component.
type Replica struct {
	Component string `json:"component"`
	Name      string `json:"name"`
	Shards    []int  `json:"shards"`
	Releases  int    `json:"releases"`
	// OfMean is its Releases in percent of the mean of the replicas of its component.
	OfMean  int         `json:"percentOfMean"`
	Renewed metav1.Time `json:"renewed"`
}

// Problem is what is wrong with the division.
type Problem struct {
	Component string `json:"component"`
	Message   string `json:"message"`
}

// sighting is a Lease by what its name says.
type sighting struct {
	holder  string
	renewed time.Time
	shards  int // with which the holder was started; 0 when it does not say
}

// Look makes a report of facts.
func Look(facts Facts) *Report {
	report := &Report{Shards: []Shard{}, Replicas: []Replica{}, Heavy: []Cluster{}, Problems: []Problem{}}
	owners, members := map[string]map[int]sighting{}, map[string]map[string]sighting{}
	count := 1
	for _, component := range Components {
		owners[component.Name], members[component.Name] = component.live(facts)
		for _, member := range members[component.Name] {
			count = max(count, member.shards)
		}
	}
	for shard := range facts.Releases {
		count = max(count, shard+1)
	}
	for shard := range count {
		report.Shards = append(report.Shards, load(facts, shard, owners))
	}
	for _, component := range Components {
		report.addReplicas(component, members[component.Name])
		report.addProblems(component, members[component.Name])
	}
	report.addHeavy(facts)
	return report
}

// live gives the Leases of a component that are held: who works on which shard, and its replicas.
func (c Component) live(facts Facts) (owners map[int]sighting, members map[string]sighting) {
	owners, members = map[int]sighting{}, map[string]sighting{}
	for i := range facts.Leases {
		lease := &facts.Leases[i]
		rest, ours := strings.CutPrefix(lease.Name, c.leases)
		if !ours || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.RenewTime == nil ||
			facts.Now.Sub(lease.Spec.RenewTime.Time) > grace {
			continue
		}
		shards, _ := strconv.Atoi(lease.Annotations[annotationShards])
		seen := sighting{*lease.Spec.HolderIdentity, lease.Spec.RenewTime.Time, shards}
		if name, isMember := strings.CutPrefix(rest, "member-"); isMember {
			members[name] = seen
		} else if shard, err := strconv.Atoi(rest); err == nil {
			owners[shard] = seen
		}
	}
	return owners, members
}

func load(facts Facts, number int, owners map[string]map[int]sighting) Shard {
	shard := Shard{Shard: number, Owners: map[string]string{}, Releases: facts.Releases[number]}
	for component, held := range owners {
		if seen, ok := held[number]; ok {
			shard.Owners[component] = seen.holder
		}
	}
	for _, cluster := range facts.Clusters {
		if cluster.Shard != number {
			continue
		}
		shard.Clusters++
		if cluster.Releases > 0 && (shard.Heaviest == nil || cluster.Releases > shard.Heaviest.Releases) {
			shard.Heaviest = &cluster
		}
	}
	return shard
}

func (r *Report) addReplicas(component Component, members map[string]sighting) {
	total := 0
	var replicas []Replica
	for _, name := range slices.Sorted(maps.Keys(members)) {
		replica := Replica{Component: component.Name, Name: name, Shards: []int{}, Renewed: metav1.NewTime(members[name].renewed)}
		for _, shard := range r.Shards {
			if shard.Owners[component.Name] == name {
				replica.Shards = append(replica.Shards, shard.Shard)
				replica.Releases += shard.Releases
			}
		}
		total += replica.Releases
		replicas = append(replicas, replica)
	}
	for i := range replicas {
		if total > 0 {
			replicas[i].OfMean = replicas[i].Releases * len(replicas) * 100 / total
		}
	}
	r.Replicas = append(r.Replicas, replicas...)
}

func (r *Report) addProblems(component Component, members map[string]sighting) {
	problem := func(format string, args ...any) {
		r.Problems = append(r.Problems, Problem{component.Name, fmt.Sprintf(format, args...)})
	}
	if len(members) == 0 {
		problem("no replica has been heard of for %s", grace)
		return
	}
	var free []string
	for _, shard := range r.Shards {
		if shard.Owners[component.Name] == "" {
			free = append(free, strconv.Itoa(shard.Shard))
		}
	}
	if len(free) > 0 {
		problem("nobody works on shard %s", strings.Join(free, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if shards := members[name].shards; shards > 0 && shards != len(r.Shards) {
			problem("%s was started with --shards=%d, but there are %d by other replicas or by labels", name, shards, len(r.Shards))
		}
	}
}

// addHeavy finds the Clusters that more replicas cannot divide: those with more than the fair
// share of a replica of convoy-controller-manager.
func (r *Report) addHeavy(facts Facts) {
	total, replicas := 0, 0
	for _, shard := range r.Shards {
		total += shard.Releases
	}
	for _, replica := range r.Replicas {
		if replica.Component == Components[0].Name {
			replicas++
		}
	}
	for _, cluster := range facts.Clusters {
		if replicas > 1 && cluster.Releases*replicas > total {
			r.Heavy = append(r.Heavy, cluster)
		}
	}
	slices.SortStableFunc(r.Heavy, func(a, b Cluster) int { return cmp.Compare(b.Releases, a.Releases) })
}
