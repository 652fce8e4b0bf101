// SPDX-License-Identifier: Apache-2.0

package release

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// perRelease remembers something of each Release, until it is forgotten. It is lost with the process.
// The zero value is ready to use, and safe for use by several goroutines.
type perRelease[V any] struct {
	mu sync.Mutex
	of map[types.NamespacedName]V
}

// get gives what is remembered of a Release, the zero value when nothing is.
func (m *perRelease[V]) get(release types.NamespacedName) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[release]
}

// keep remembers it in place of what was remembered so far.
func (m *perRelease[V]) keep(release types.NamespacedName, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[types.NamespacedName]V{}
	}
	m.of[release] = value
}

func (m *perRelease[V]) forget(release types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, release)
}

// retain forgets all Releases but those that keep tells, which others may bring on.
func (m *perRelease[V]) retain(keep func(release types.NamespacedName) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.of, func(release types.NamespacedName, _ V) bool { return !keep(release) })
}

// all gives the Releases of which what is remembered matches.
func (m *perRelease[V]) all(matches func(value V) bool) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []types.NamespacedName
	for release, value := range m.of {
		if matches(value) {
			all = append(all, release)
		}
	}
	return all
}
