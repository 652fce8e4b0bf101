// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"slices"
	"strings"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const (
	// contestedAfter is how many corrections of the same drift within contestWindow are
	// made before it is called contested.
	contestedAfter = 5
	contestWindow  = time.Hour
)

// correction counts how often one drift was corrected, since first.
type correction struct {
	first, last time.Time
	count       int
}

// fingerprint names objects and fields, not values: whoever fights writes ever new ones.
func fingerprint(found []drifted) string {
	var parts []string
	for _, one := range found {
		part := objectName(one.key)
		for _, change := range one.changes {
			part += " " + change.Path
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

// corrected counts a correction.
func (m *memory) corrected(found []drifted, now time.Time) {
	key := fingerprint(found)
	c := m.corrections[key]
	if c == nil || now.Sub(c.first) > contestWindow {
		c = &correction{first: now}
		m.corrections[key] = c
	}
	c.count++
	c.last = now
}

// contested returns the correction that has come back too often, and how long to wait
// until it may be tried again; nil when the drift may be corrected now.
func (m *memory) contested(found []drifted, now time.Time) (time.Duration, *correction) {
	c := m.corrections[fingerprint(found)]
	if c == nil || c.count < contestedAfter {
		return 0, nil
	}
	until := c.first.Add(contestWindow)
	if !now.Before(until) {
		return 0, nil
	}
	return until.Sub(now), c
}

// rival names the field manager, other than convoy, that wrote to a drifted object last.
func rival(found []drifted) string {
	for _, one := range found {
		if manager := lastManager(one.live); manager != "" {
			return " (field manager " + manager + ")"
		}
	}
	return ""
}

func lastManager(live map[string]any) string {
	metadata, _ := live["metadata"].(map[string]any)
	managed, _ := metadata["managedFields"].([]any)
	newest, name := "", ""
	for _, item := range managed {
		fields, _ := item.(map[string]any)
		manager, _ := fields["manager"].(string)
		at, _ := fields["time"].(string)
		if manager != corev1alpha1.FieldManager && at >= newest {
			newest, name = at, manager
		}
	}
	return name
}
