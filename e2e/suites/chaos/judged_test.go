// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/installation"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// at is a moment, in seconds after noon.
func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// leaseEvent is a write of the Lease of a shard, which takes 0.1 s: version from became to. Nobody
// holds it when holder is empty.
func leaseEvent(name, holder, source string, seconds float64, from, to string, code int) event {
	e := event{Verb: "update", SourceIPs: []string{source}, RequestReceivedTimestamp: at(seconds), StageTimestamp: at(seconds + 0.1)}
	if from == "" {
		e.Verb = "create"
	}
	e.ObjectRef.Resource, e.ObjectRef.Name, e.ResponseStatus.Code = "leases", name, code
	object := func(version string) []byte {
		spec := `"leaseDurationSeconds": 15`
		if holder != "" {
			spec += fmt.Sprintf(`, "holderIdentity": %q, "renewTime": %q`, holder, at(seconds).Format("2006-01-02T15:04:05.000000Z07:00"))
		}
		return fmt.Appendf(nil, `{"metadata": {"name": %q, "resourceVersion": %q}, "spec": {%s}}`, name, version, spec)
	}
	e.RequestObject, e.ResponseObject = object(from), object(to)
	return e
}

const (
	first  = "127.10.1.1"
	second = "127.10.2.1"
	lease  = "convoy-cm-0"
)

func TestHistory(t *testing.T) {
	held := func(source string, from, to float64, silent bool) tenure {
		return tenure{source: source, from: at(from), to: at(to), silent: silent}
	}
	for _, test := range []struct {
		name   string
		events []event
		want   []tenure
		fails  string
	}{
		{name: "renewed", events: []event{
			leaseEvent(lease, "a", first, 0, "", "1", 201), leaseEvent(lease, "a", first, 5, "1", "9", 200), leaseEvent(lease, "a", first, 10, "9", "10", 200),
		}, want: []tenure{held(first, 0, 25, true)}},
		{name: "given up", events: []event{
			leaseEvent(lease, "a", first, 0, "", "1", 201), leaseEvent(lease, "", first, 5, "1", "2", 200), leaseEvent(lease, "b", second, 6, "2", "3", 200),
		}, want: []tenure{held(first, 0, 5.1, false), held(second, 6, 21, true)}},
		{name: "silent", events: []event{
			leaseEvent(lease, "a", first, 0, "", "1", 201), leaseEvent(lease, "b", second, 16, "1", "2", 200),
		}, want: []tenure{held(first, 0, 15, true), held(second, 16, 31, true)}},
		{name: "renewed too late", events: []event{
			leaseEvent(lease, "a", first, 0, "", "1", 201), leaseEvent(lease, "a", first, 20, "1", "2", 200),
		}, want: []tenure{held(first, 0, 15, true), held(first, 20, 35, true)}},
		{name: "in the log in another order, with refusals and others", events: []event{
			leaseEvent(lease, "b", second, 6, "2", "3", 200), leaseEvent(lease, "b", second, 5, "1", "4", 409),
			leaseEvent(lease, "", first, 5, "1", "2", 200), leaseEvent(lease, "a", first, 0, "", "1", 201),
			leaseEvent("convoy-cm-member-a", "a", first, 0, "", "7", 201),
		}, want: []tenure{held(first, 0, 5.1, false), held(second, 6, 21, true)}},
		{name: "written without an answer", events: []event{
			leaseEvent(lease, "a", first, 0, "", "1", 201), leaseEvent(lease, "a", first, 10, "1", "", 504), leaseEvent(lease, "a", first, 20, "2", "3", 200),
		}, want: []tenure{held(first, 0, 35, true)}},
		{name: "with a write that never came whole", events: []event{
			leaseEvent(lease, "a", first, 0, "", "1", 201), {Verb: "update", ObjectRef: objectRef{Resource: "leases", Name: lease}, ResponseStatus: status{Code: 500}},
		}, want: []tenure{held(first, 0, 15, true)}},
		{name: "not whole", events: []event{
			leaseEvent(lease, "a", first, 0, "", "1", 201), leaseEvent(lease, "a", first, 5, "2", "3", 200),
		}, fails: "version 3"},
		{name: "its beginning is missing", events: []event{leaseEvent(lease, "a", first, 5, "2", "3", 200)}, fails: "version 3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := history(test.events)
			if test.fails != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.fails)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(HaveLen(1))
			g.Expect(got[lease]).To(HaveLen(len(test.want)))
			for i, want := range test.want {
				g.Expect(got[lease][i].String()).To(Equal(want.String()))
			}
		})
	}
	deleted := leaseEvent(lease, "a", first, 5, "1", "1", 200)
	deleted.Verb = "delete"
	_, err := history([]event{deleted})
	NewWithT(t).Expect(err).To(HaveOccurred())
}

// write is a write of an object of Release app-00, which is in shard 0.
func writeEvent(source string, from, to float64, change func(*event)) event {
	e := event{Verb: "patch", RequestURI: "/x", UserAgent: installation.ControllerManager + "/v1", SourceIPs: []string{source},
		RequestReceivedTimestamp: at(from), StageTimestamp: at(to)}
	e.ObjectRef.Resource, e.ObjectRef.Name, e.ResponseStatus.Code = "configmaps", "app-00.lasting-1", 200
	if change != nil {
		change(&e)
	}
	return e
}

func newTestJudge() *judge {
	return &judge{
		tenures: map[string][]tenure{lease: {{source: first, from: at(0), to: at(15), silent: true}, {source: second, from: at(16), to: at(31)}}},
		shards:  map[string]string{"releases/app-00": "0"}, judged: map[string]int{},
		replica: func(e *event) (string, string, bool) {
			return installation.ControllerManager, "replica " + e.source(), strings.HasPrefix(e.source(), "127.10.")
		},
	}
}

func TestOwnership(t *testing.T) {
	for _, test := range []struct {
		name  string
		event event
		fault string
	}{
		{name: "its own", event: writeEvent(first, 1, 2, nil)},
		{name: "until its end", event: writeEvent(first, 14, 15, nil)},
		{name: "beyond its end", event: writeEvent(first, 14, 15.01, nil), fault: "app-00.lasting-1"},
		{name: "after a pause", event: writeEvent(first, 18, 18.1, nil), fault: "127.10.2.1 held it from 12:00:16"},
		{name: "as its successor", event: writeEvent(second, 18, 18.1, nil)},
		{name: "before it had it", event: writeEvent(second, 15.9, 16.1, nil), fault: "replica " + second},
		{name: "by a former life", event: writeEvent("127.10.2.2", 18, 18.1, nil), fault: "127.10.2.2"},
		{name: "dry", event: writeEvent(first, 18, 18.1, func(e *event) { e.RequestURI = "/x?dryRun=All&force=true" })},
		{name: "refused", event: writeEvent(first, 18, 18.1, func(e *event) { e.ResponseStatus.Code = 409 })},
		{name: "unanswered", event: writeEvent(first, 18, 18.1, func(e *event) { e.ResponseStatus.Code = 504 }), fault: "(504)"},
		{name: "a person", event: writeEvent("127.0.0.1", 40, 41, func(e *event) { e.UserAgent = "kubectl" })},
		{name: "a replica that goes another way", event: writeEvent("127.0.0.1", 1, 2, nil), fault: "from no address"},
		{name: "of no known shard", event: writeEvent(first, 1, 2, func(e *event) { e.ObjectRef.Name = "other.lasting-1" }), fault: "no shard"},
		{name: "created, of no known name", event: writeEvent(first, 18, 18.1, func(e *event) { e.Verb, e.ObjectRef.Name = "create", "" })},
		{name: "an inventory", event: writeEvent(first, 18, 19, func(e *event) {
			e.ObjectRef.Resource, e.ObjectRef.Name = "releaseinventories", "app-00.1"
		}), fault: "releaseinventories"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			faults := newTestJudge().ownership("edge-0", []event{test.event})
			if test.fault == "" {
				g.Expect(faults).To(BeEmpty())
				return
			}
			g.Expect(faults).To(ConsistOf(ContainSubstring(test.fault)))
			g.Expect(faults[0]).To(HavePrefix("edge-0: "))
		})
	}
}

func TestContents(t *testing.T) {
	g := NewWithT(t)
	put := func(source, version string, commit int) event {
		return writeEvent(source, 1, 2, func(e *event) {
			e.ResponseObject = fmt.Appendf(nil, `{"metadata": {"name": "a", "resourceVersion": %q}, "data": {"commit": "%d"}}`, version, commit)
		})
	}
	remove := func(name string) event {
		return writeEvent(first, 3, 4, func(e *event) { e.Verb, e.ObjectRef.Name = "delete", name })
	}
	j := newTestJudge()
	g.Expect(j.contents("edge-0", []event{put(second, "10", 3), put(first, "9", 2), put(second, "11", 3), put("127.0.0.1", "12", 0), remove("app-00.passing-1")})).To(BeEmpty())
	g.Expect(j.contents("edge-0", []event{put(second, "10", 3), put(first, "11", 2)})).To(ConsistOf(And(
		ContainSubstring("commit 2"), ContainSubstring("came over commit 3"), ContainSubstring(first))))
	g.Expect(j.contents("edge-0", []event{remove("app-00.lasting-1")})).To(HaveLen(1))
	g.Expect(j.contents("edge-0", []event{writeEvent(first, 1, 2, func(e *event) { e.ResponseObject = []byte(`{}`) })})).To(HaveLen(1))
}
