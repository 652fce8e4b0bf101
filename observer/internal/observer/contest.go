// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"slices"
	"strings"
	"time"
)

const (
	// contestedAfter is how many corrections of the same drift within contestWindow are
	// made before it is called contested.
	contestedAfter = 5
	contestWindow  = time.Hour
	// besidesEvery is how often other drift is corrected while some is contested: a sync
	// restores all objects of the Release, and what is contested with them.
	besidesEvery = time.Minute
)

// correction counts how often the drift of one field was corrected, since first.
type correction struct {
	first time.Time
	count int
}

// name is how an object is called in corrections.
func (d drifted) name() string {
	key := identity(d.key)
	return strings.Join([]string{key.Group, key.Kind, key.Namespace, key.Name}, " ")
}

// fingerprints name an object and each of its fields that drifted, not values: whoever fights
// writes ever new ones.
func (d drifted) fingerprints() []string {
	if len(d.changes) == 0 {
		return []string{d.name()}
	}
	names := make([]string, len(d.changes))
	for i, change := range d.changes {
		names[i] = d.name() + " " + change.Path
	}
	return names
}

// rest names all fields of an object but those that are contested: whoever fights may write to
// ever other fields as well.
func (d drifted) rest() string { return d.name() + " *" }

// corrected counts a correction of each field.
func (m *memory) corrected(found []drifted, now time.Time) {
	for key, past := range m.corrections {
		if now.Sub(past.first) >= contestWindow {
			delete(m.corrections, key)
		}
	}
	for _, one := range found {
		keys := one.fingerprints()
		if slices.ContainsFunc(keys, func(key string) bool { return m.left(key, now) > 0 }) {
			keys = append(keys, one.rest())
		}
		for _, key := range keys {
			if m.corrections[key] == nil {
				m.corrections[key] = &correction{first: now}
			}
			m.corrections[key].count++
		}
	}
}

// left is how long what came back too often is left alone; 0: it is corrected.
func (m *memory) left(key string, now time.Time) time.Duration {
	past := m.corrections[key]
	if past == nil || past.count < contestedAfter {
		return 0
	}
	return max(contestWindow-now.Sub(past.first), 0)
}

// contested returns the objects of which some drift came back too often, whether there is other
// drift besides, and how long to wait until some of it may be corrected again.
func (m *memory) contested(found []drifted, now time.Time) (fought []drifted, others bool, wait time.Duration) {
	wait = contestWindow
	for _, one := range found {
		back, fresh := false, false
		for _, key := range one.fingerprints() {
			left := m.left(key, now)
			if left == 0 {
				fresh = true
				continue
			}
			back = true
			wait = min(wait, left)
		}
		if left := m.left(one.rest(), now); back && fresh && left > 0 {
			fresh = false
			wait = min(wait, left)
		}
		if back {
			fought = append(fought, one)
		}
		others = others || fresh
	}
	return fought, others, wait
}

// besides tells how long other drift than the contested one has to wait: not at all as a rule, and
// at most so long that what is contested is not written to all the time because of it.
func (m *memory) besides(now time.Time) time.Duration {
	if m.besidesAt.IsZero() {
		return 0
	}
	return max(m.besidesAt.Add(besidesEvery).Sub(now), 0)
}
