// SPDX-License-Identifier: Apache-2.0

// Package window tells whether automatic syncs may start, by the windows of a Release: syncs
// of something new, and corrections of drift. The API server checks schedules with it too.
package window

import (
	"fmt"
	"time"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// Windows are the windows of one Release.
type Windows struct{ windows []window }

type window struct {
	schedule schedule
	duration time.Duration
	zone     *time.Location
	deny     bool
}

// Parse reads windows. Its errors name the field and are for people.
func Parse(spec []corev1alpha1.SyncWindow) (Windows, error) {
	var parsed Windows
	for i, w := range spec {
		schedule, err := parse(w.Schedule)
		if err != nil {
			return Windows{}, fmt.Errorf("spec.sync.windows[%d].schedule: %q: %w", i, w.Schedule, err)
		}
		zone, err := time.LoadLocation(w.TimeZone)
		if err != nil {
			return Windows{}, fmt.Errorf("spec.sync.windows[%d].timeZone: %w", i, err)
		}
		if w.Duration.Duration <= 0 {
			return Windows{}, fmt.Errorf("spec.sync.windows[%d].duration: must be more than 0", i)
		}
		parsed.windows = append(parsed.windows, window{schedule: schedule, duration: w.Duration.Duration, zone: zone, deny: w.Deny})
	}
	return parsed, nil
}

// Open tells whether a sync may start at t: no window that denies is open, and one that
// allows is, if there are any that allow.
func (w Windows) Open(t time.Time) bool {
	allows, allowed := false, false
	for _, one := range w.windows {
		switch open := one.open(t); {
		case one.deny && open:
			return false
		case !one.deny:
			allows = true
			allowed = allowed || open
		}
	}
	return allowed || !allows
}

// maxBoundaries is how many beginnings and ends of windows are looked at for an opening.
const maxBoundaries = 1000

// Next gives the first time from t on at which a sync may start; ok is false when there is
// none in sight.
func (w Windows) Next(t time.Time) (opening time.Time, ok bool) {
	for range maxBoundaries {
		if w.Open(t) {
			return t, true
		}
		following, ok := w.boundary(t)
		if !ok {
			return time.Time{}, false
		}
		t = following
	}
	return time.Time{}, false
}

// boundary is the first time after t at which a window opens or closes.
func (w Windows) boundary(t time.Time) (first time.Time, ok bool) {
	consider := func(at time.Time) {
		if at.After(t) && (!ok || at.Before(first)) {
			first, ok = at, true
		}
	}
	for _, one := range w.windows {
		if start, found := one.schedule.next(t.In(one.zone)); found {
			consider(start)
		}
		if start, found := one.schedule.next(t.Add(-one.duration).In(one.zone)); found {
			consider(start.Add(one.duration))
		}
	}
	return first, ok
}

// open tells whether a start lies less than the duration before t.
func (w window) open(t time.Time) bool {
	start, ok := w.schedule.next(t.Add(-w.duration).In(w.zone))
	return ok && !start.After(t)
}
