// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kumodo.io/convoy/e2e/framework/installation"
)

// components are the names of the controllers in Leases.
var components = map[string]string{installation.ControllerManager: "convoy-cm", installation.Observer: "convoy-obs"}

// judge says of writes whether those may have made them who did.
type judge struct {
	tenures map[string][]tenure // by the name of the Lease
	shards  map[string]string   // of Releases, Clusters and sources: "<resource>/<name>" -> shard
	// replica names who has an address, and what happened to it around a moment; ok is false for
	// those who are no replicas.
	replica func(*event) (component, text string, ok bool)
	judged  map[string]int // writes by component and cluster
}

// shardOf gives the shard that an object belongs to.
func (j *judge) shardOf(e *event) (string, error) {
	key := e.ObjectRef.Resource + "/" + e.ObjectRef.Name
	switch e.ObjectRef.Resource {
	case "configmaps":
		key = "releases/" + releaseOf(e.ObjectRef.Name)
	case "releaseinventories":
		release, _, _ := strings.Cut(e.ObjectRef.Name, ".") // what does not fit goes to <release>.1 and so on
		key = "releases/" + release
	}
	shard, known := j.shards[key]
	if !known {
		return "", fmt.Errorf("%s belongs to no shard that is known", e)
	}
	return shard, nil
}

// ownership gives what is wrong with the writes of replicas at a cluster: all time in which a
// write may have taken effect must be within a tenure of who made it.
func (j *judge) ownership(cluster string, events []event) (faults []string) {
	for _, e := range events {
		component, text, ok := j.replica(&e)
		if !ok {
			if strings.HasPrefix(e.UserAgent, installation.ControllerManager) || strings.HasPrefix(e.UserAgent, installation.Observer) {
				faults = append(faults, fmt.Sprintf("%s: %s is of %s, from no address of a replica (%s)", cluster, &e, e.UserAgent, e.source()))
			}
			continue
		}
		if e.dry() || e.refused() || e.ObjectRef.Resource == "leases" || e.nameless() {
			continue
		}
		shard, err := j.shardOf(&e)
		if err != nil {
			faults = append(faults, fmt.Sprintf("%s: %s: %v", cluster, text, err))
			continue
		}
		j.judged[component+" at "+cluster]++
		lease := components[component] + "-" + shard
		if !within(j.tenures[lease], &e) {
			faults = append(faults, fmt.Sprintf("%s: %s by %s, which did not hold %s all the time: %s",
				cluster, &e, text, lease, around(j.tenures[lease], &e)))
		}
	}
	return faults
}

func within(tenures []tenure, e *event) bool {
	return slices.ContainsFunc(tenures, func(t tenure) bool {
		return t.source == e.source() && !e.RequestReceivedTimestamp.Before(t.from) && !e.StageTimestamp.After(t.to)
	})
}

// around tells the tenures before, at and after a write.
func around(tenures []tenure, e *event) string {
	var texts []string
	for i, t := range tenures {
		next := i == len(tenures)-1 || !tenures[i+1].from.Before(e.RequestReceivedTimestamp)
		previous := i == 0 || !tenures[i-1].to.After(e.StageTimestamp)
		if next && previous || t.source == e.source() {
			texts = append(texts, t.String())
		}
	}
	return strings.Join(texts, "; ")
}

// contents gives what is wrong with what replicas wrote into objects of a target in the course
// of time: an older commit after a newer one, and a deletion of what every commit has.
func (j *judge) contents(cluster string, events []event) (faults []string) {
	type written struct {
		version uint64
		commit  int
		event   *event
	}
	all := map[string][]written{}
	for i := range events {
		e := &events[i]
		if _, _, ok := j.replica(e); !ok || e.ObjectRef.Resource != "configmaps" || e.dry() || e.refused() {
			continue
		}
		if e.Verb == "delete" || e.Verb == "deletecollection" {
			if e.Verb == "deletecollection" || isLasting(e.ObjectRef.Name) {
				faults = append(faults, fmt.Sprintf("%s: %s, which every commit has (from %s)", cluster, e, e.source()))
			}
			continue
		}
		if !e.succeeded() {
			continue
		}
		var object corev1.ConfigMap
		err := json.Unmarshal(e.ResponseObject, &object)
		commit, numberErr := strconv.Atoi(object.Data[key])
		if err != nil || numberErr != nil {
			faults = append(faults, fmt.Sprintf("%s: %s has no number of a commit: %s", cluster, e, e.ResponseObject))
			continue
		}
		all[object.Name] = append(all[object.Name], written{version(object.ResourceVersion), commit, e})
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list := all[name]
		slices.SortStableFunc(list, func(a, b written) int { return int(int64(a.version) - int64(b.version)) })
		for i := range len(list) - 1 {
			if list[i+1].commit < list[i].commit {
				faults = append(faults, fmt.Sprintf("%s: commit %d (%s, from %s) came over commit %d (%s, from %s)", cluster,
					list[i+1].commit, list[i+1].event, list[i+1].event.source(), list[i].commit, list[i].event, list[i].event.source()))
			}
		}
	}
	return faults
}
