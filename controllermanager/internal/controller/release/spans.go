// SPDX-License-Identifier: Apache-2.0

package release

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// span is a time in which something has gone on.
type span struct{ since, until time.Time }

// spans remember a time of each Release. What is lost with the process begins anew: it could do
// nothing for the Release until then.
type spans struct {
	mu sync.Mutex
	of map[types.NamespacedName]span
}

// get gives what is remembered of a Release, the zero value when nothing is.
func (m *spans) get(release types.NamespacedName) span {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[release]
}

func (m *spans) keep(release types.NamespacedName, time span) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]span{}
	}
	m.of[release] = time
}

func (m *spans) forget(release types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, release)
}

// retain forgets all Releases but those that keep tells, which others may bring on.
func (m *spans) retain(keep func(release types.NamespacedName) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.of, func(release types.NamespacedName, _ span) bool { return !keep(release) })
}
