// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// shardLease matches the names of the Leases of shards: component and number.
var shardLease = regexp.MustCompile(`^convoy-(cm|obs)-\d+$`)

// state is a Lease as it was written, by whom, and between which moments.
type state struct {
	lease    coordinationv1.Lease
	source   string
	from, to time.Time
}

func (s *state) holder() string {
	if s.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *s.lease.Spec.HolderIdentity
}

// until is when others may take the Lease.
func (s *state) until() time.Time {
	if s.lease.Spec.RenewTime == nil || s.lease.Spec.LeaseDurationSeconds == nil {
		return time.Time{}
	}
	return s.lease.Spec.RenewTime.Add(time.Duration(*s.lease.Spec.LeaseDurationSeconds) * time.Second)
}

// tenure is the time for which a replica held a shard: from the arrival of the write that took the
// Lease, to the answer to the one by which it was given up, or to the end of the time for which
// it was renewed last.
type tenure struct {
	source   string // address of the replica
	from, to time.Time
	silent   bool // it was not given up
}

func (t tenure) String() string {
	end := "gave it up"
	if t.silent {
		end = "was silent for too long"
	}
	return fmt.Sprintf("%s held it from %s to %s (%s)", t.source, clock(t.from), clock(t.to), end)
}

// history gives the tenures of each shard by the name of its Lease, in order. It returns an
// error when the log does not have all writes of a Lease.
func history(events []event) (map[string][]tenure, error) {
	states := map[string][]state{}
	doubtful := map[string]event{} // by the version that was to be replaced: whether it was is not known
	bases := map[string]string{}   // version -> version that it replaced
	for _, e := range events {
		name := e.ObjectRef.Name
		if e.ObjectRef.Resource != "leases" || !shardLease.MatchString(name) || e.dry() {
			continue
		}
		if e.Verb == "delete" || e.Verb == "deletecollection" {
			return nil, fmt.Errorf("the Lease of a shard was deleted: %s", &e)
		}
		if len(e.RequestObject) == 0 && !e.succeeded() {
			continue // who sent it died before all of it had come
		}
		var requested coordinationv1.Lease
		if err := json.Unmarshal(e.RequestObject, &requested); err != nil {
			return nil, fmt.Errorf("%s: %w", &e, err)
		}
		switch {
		case e.succeeded():
			s := state{source: e.source(), from: e.RequestReceivedTimestamp, to: e.StageTimestamp}
			if err := json.Unmarshal(e.ResponseObject, &s.lease); err != nil {
				return nil, fmt.Errorf("%s: %w", &e, err)
			}
			states[name] = append(states[name], s)
			bases[s.lease.ResourceVersion] = requested.ResourceVersion
		case !e.refused():
			doubtful[requested.ResourceVersion] = e
		}
	}
	found := map[string][]tenure{}
	for name, written := range states {
		slices.SortFunc(written, func(a, b state) int {
			return cmp.Compare(version(a.lease.ResourceVersion), version(b.lease.ResourceVersion))
		})
		whole, err := complete(written, bases, doubtful)
		if err != nil {
			return nil, fmt.Errorf("Lease %s: %w", name, err)
		}
		found[name] = tenures(whole)
	}
	return found, nil
}

// complete puts writes in their places that took effect without an answer, and returns an error
// when one is missing.
func complete(written []state, bases map[string]string, doubtful map[string]event) ([]state, error) {
	var whole []state
	last := ""
	for _, s := range written {
		if base := bases[s.lease.ResourceVersion]; base != last {
			e, known := doubtful[last]
			if !known {
				return nil, fmt.Errorf("version %s replaced %q, which is not known to be written after %q", s.lease.ResourceVersion, base, last)
			}
			unanswered := state{source: e.source(), from: e.RequestReceivedTimestamp, to: s.to}
			if err := json.Unmarshal(e.RequestObject, &unanswered.lease); err != nil {
				return nil, err
			}
			whole = append(whole, unanswered)
		}
		whole = append(whole, s)
		last = s.lease.ResourceVersion
	}
	return whole, nil
}

// tenures gives those of one shard.
func tenures(states []state) []tenure {
	var found []tenure
	for i, s := range states {
		if s.holder() == "" {
			continue
		}
		t := tenure{source: s.source, from: s.from, to: s.until(), silent: true}
		if i+1 < len(states) && states[i+1].holder() != s.holder() && states[i+1].to.Before(t.to) {
			t.to, t.silent = states[i+1].to, false
		}
		// A renewal in time goes on with the tenure.
		if n := len(found); n > 0 && states[i-1].holder() == s.holder() && !t.from.After(found[n-1].to) {
			found[n-1].to, found[n-1].silent = t.to, t.silent
			continue
		}
		found = append(found, t)
	}
	return found
}

// version makes a resource version comparable: those of one kind are numbers that grow.
func version(text string) (number uint64) {
	_, _ = fmt.Sscan(text, &number)
	return number
}
