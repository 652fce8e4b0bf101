// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"strings"
	"time"
)

const (
	// contestedAfter is how many corrections of the same drift within contestWindow are
	// made before it is called contested.
	contestedAfter = 5
	contestWindow  = time.Hour
)

// correction counts how often the drift of one object was corrected, since first.
type correction struct {
	first time.Time
	count int
}

// fingerprint names an object and fields, not values: whoever fights writes ever new ones.
func (d drifted) fingerprint() string {
	key := identity(d.key)
	parts := []string{key.Group, key.Kind, key.Namespace, key.Name}
	for _, change := range d.changes {
		parts = append(parts, change.Path)
	}
	return strings.Join(parts, " ")
}

// corrected counts a correction of each object.
func (m *memory) corrected(found []drifted, now time.Time) {
	for key, past := range m.corrections {
		if now.Sub(past.first) >= contestWindow {
			delete(m.corrections, key)
		}
	}
	for _, one := range found {
		key := one.fingerprint()
		if m.corrections[key] == nil {
			m.corrections[key] = &correction{first: now}
		}
		m.corrections[key].count++
	}
}

// contested returns the objects whose drift came back too often, and how long to wait until
// one of them may be corrected again.
func (m *memory) contested(found []drifted, now time.Time) (fought []drifted, wait time.Duration) {
	wait = contestWindow
	for _, one := range found {
		past := m.corrections[one.fingerprint()]
		if past == nil || past.count < contestedAfter {
			continue
		}
		if left := contestWindow - now.Sub(past.first); left > 0 {
			fought = append(fought, one)
			wait = min(wait, left)
		}
	}
	return fought, wait
}
