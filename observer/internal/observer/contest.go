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
	// besidesEvery is how often other drift is corrected while some is contested: a sync
	// restores all objects of the Release, and what is contested with them.
	besidesEvery = contestWindow / contestedAfter
)

// correction counts how often the drift of one field was corrected, since first.
type correction struct {
	first time.Time
	count int
}

// fingerprints name an object and each of its fields that drifted, not values: whoever fights
// writes ever new ones, and now and then to other fields as well.
func (d drifted) fingerprints() []string {
	key := identity(d.key)
	object := strings.Join([]string{key.Group, key.Kind, key.Namespace, key.Name}, " ")
	if len(d.changes) == 0 {
		return []string{object}
	}
	names := make([]string, len(d.changes))
	for i, change := range d.changes {
		names[i] = object + " " + change.Path
	}
	return names
}

// corrected counts a correction of each field.
func (m *memory) corrected(found []drifted, now time.Time) {
	for key, past := range m.corrections {
		if now.Sub(past.first) >= contestWindow {
			delete(m.corrections, key)
		}
	}
	for _, one := range found {
		for _, key := range one.fingerprints() {
			if m.corrections[key] == nil {
				m.corrections[key] = &correction{first: now}
			}
			m.corrections[key].count++
		}
	}
}

// contested returns the objects of which some drift came back too often, whether there is other
// drift besides, and how long to wait until some of it may be corrected again.
func (m *memory) contested(found []drifted, now time.Time) (fought []drifted, others bool, wait time.Duration) {
	wait = contestWindow
	for _, one := range found {
		back := false
		for _, key := range one.fingerprints() {
			past := m.corrections[key]
			if past == nil || past.count < contestedAfter || now.Sub(past.first) >= contestWindow {
				others = true
				continue
			}
			back = true
			wait = min(wait, contestWindow-now.Sub(past.first))
		}
		if back {
			fought = append(fought, one)
		}
	}
	return fought, others, wait
}

// besides tells how long other drift than the contested one has to wait: not at all at first,
// and then so long that what is contested is not written to all the time because of it.
func (m *memory) besides(now time.Time) time.Duration {
	if m.besidesAt.IsZero() {
		return 0
	}
	return max(m.besidesAt.Add(besidesEvery).Sub(now), 0)
}
