// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"kumodo.io/convoy/e2e/framework/apiproxy"
)

// place is where a write goes.
type place string

const (
	onHost   place = "host"
	onTarget place = "target"
)

// moment is when the process dies at a write.
type moment string

const (
	// before: the write is never sent.
	before moment = "before"
	// after: it is done, and nobody gets the answer.
	after moment = "after"
	// late: it arrives when the next process has made the same write, or has done its part
	// without that.
	late moment = "late"
)

// write is a write that the controller-manager sent.
type write struct {
	place
	apiproxy.Write
	status int // of the answer; 0 without one
}

// ledger has the writes for one world in one phase, and the trap that is set for them.
type ledger struct {
	mu       sync.Mutex
	world    string // the namespace
	writes   []*write
	underWay int
	trap     *trap
	fatal    *write // at which the process died last
}

// trap kills the process at a write.
type trap struct {
	number int // from 1
	moment
	sprung    chan struct{} // closed when the process is dead
	due       chan struct{} // closed when a late write is to arrive
	deliver   func()        // closes it
	delivered chan struct{} // closed when the write has arrived
}

func newTrap(number int, moment moment) *trap {
	due := make(chan struct{})
	return &trap{
		number: number, moment: moment, sprung: make(chan struct{}),
		due: due, deliver: sync.OnceFunc(func() { close(due) }), delivered: make(chan struct{}),
	}
}

// begin begins a phase, with a trap or without.
func (l *ledger) begin(world string, trap *trap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.world, l.trap, l.writes = world, trap, nil
}

// disarm takes the trap away, and tells whether it had not sprung.
func (l *ledger) disarm() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	armed := l.trap != nil && l.fatal == nil
	if armed {
		l.trap = nil
	}
	return armed
}

// died gives the write at which the process died last; nil when it did not since the last call.
func (l *ledger) died() *write {
	l.mu.Lock()
	defer l.mu.Unlock()
	fatal := l.fatal
	l.fatal = nil
	return fatal
}

// quiet tells whether everything that was sent is answered.
func (l *ledger) quiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.underWay == 0
}

// sent gives the writes of the phase so far.
func (l *ledger) sent() []write {
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := make([]write, len(l.writes))
	for i, w := range l.writes {
		sent[i] = *w
	}
	return sent
}

// gate is the gate of the proxy before a cluster.
func (l *ledger) gate(place place, die func()) apiproxy.Gate {
	return func(request apiproxy.Write, pass func() int) bool {
		w, trap := l.open(place, request)
		if w == nil {
			pass()
			return true
		}
		if trap == nil || trap.moment == after {
			l.close(w, pass())
		}
		if trap == nil {
			return true
		}
		die()
		if trap.moment != after {
			l.close(w, 0)
		}
		close(trap.sprung)
		if trap.moment == late {
			<-trap.due
			l.answered(w, pass())
			close(trap.delivered)
		}
		return false
	}
}

// open enters a write, and gives the trap when it is the one. What the world has nothing to do
// with is not entered.
func (l *ledger) open(place place, request apiproxy.Write) (*write, *trap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.concerns(request) {
		return nil, nil
	}
	w := &write{place: place, Write: request}
	l.writes = append(l.writes, w)
	l.underWay++
	if l.trap != nil && l.trap.number == len(l.writes) {
		l.fatal = w
		return w, l.trap
	}
	return w, nil
}

// concerns tells whether a write is about the world; events are for people only.
func (l *ledger) concerns(request apiproxy.Write) bool {
	named := strings.Contains(request.Path, l.world) || bytes.Contains(request.Body, []byte(l.world))
	return l.world != "" && named && !strings.Contains(request.Path, "/events")
}

// close enters how a write was answered.
func (l *ledger) close(w *write, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.status = status
	l.underWay--
	if fatal := l.fatal; l.trap != nil && fatal != nil && w != fatal && w.done() && w.Method == fatal.Method && w.Path == fatal.Path {
		l.trap.deliver()
	}
}

// answered enters how a write was answered that arrived late.
func (l *ledger) answered(w *write, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.status = status
}

func (w write) done() bool { return w.status >= 200 && w.status < 300 }

// String is for people; a write that was never done has no status.
func (w *write) String() string {
	switch {
	case w == nil:
		return ""
	case w.status == 0:
		return fmt.Sprintf("%s %s of the %s", w.Method, w.Path, w.place)
	}
	return fmt.Sprintf("%s %s of the %s, answered %d", w.Method, w.Path, w.place, w.status)
}

// created counts by path how often objects of the target were created.
func created(writes []write) map[string]int {
	counts := map[string]int{}
	for _, w := range writes {
		if w.place == onTarget && w.status == http.StatusCreated {
			counts[w.Path]++
		}
	}
	return counts
}

// deleted counts by path how often objects of the target were deleted.
func deleted(writes []write) map[string]int {
	counts := map[string]int{}
	for _, w := range writes {
		if w.place == onTarget && w.Method == http.MethodDelete && w.done() {
			counts[w.Path]++
		}
	}
	return counts
}

// ambiguous gives the paths to which different contents were applied.
func ambiguous(writes []write) []string {
	contents := map[string]map[string]bool{}
	for _, w := range writes {
		if w.place != onTarget || !strings.HasPrefix(w.ContentType, "application/apply-patch") || !w.done() {
			continue
		}
		if contents[w.Path] == nil {
			contents[w.Path] = map[string]bool{}
		}
		contents[w.Path][content(w.Body)] = true
	}
	maps.DeleteFunc(contents, func(_ string, different map[string]bool) bool { return len(different) == 1 })
	return slices.Sorted(maps.Keys(contents))
}

// content is what is applied, without what it is conditional on.
func content(body []byte) string {
	object := map[string]any{}
	if err := json.Unmarshal(body, &object); err != nil {
		return err.Error()
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
	}
	plain, _ := json.Marshal(object) // of what was decoded
	return string(plain)
}
