// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// schedule is a cron expression of five fields: the sets of minutes, hours, days of the
// month, months and days of the week (0 is Sunday) in which something starts.
type schedule struct {
	minutes, hours, days, months, weekdays uint64
	// anyDay and anyWeekday are true for "*": of two restricted fields of days, either
	// suffices, as cron has it.
	anyDay, anyWeekday bool
}

// field says what a field of a cron expression may hold.
type field struct {
	name     string
	min, max int
	names    []string // of min, min+1, …
}

var fields = [5]field{
	{name: "minute", min: 0, max: 59},
	{name: "hour", min: 0, max: 23},
	{name: "day of the month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	// 7 is Sunday too.
	{name: "day of the week", min: 0, max: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// CheckSchedule checks a cron expression. Its error is for people.
func CheckSchedule(expression string) error {
	_, err := parse(expression)
	return err
}

// parse reads a cron expression: numbers, names, lists, ranges and steps.
func parse(expression string) (schedule, error) {
	parts := strings.Fields(expression)
	if len(parts) != len(fields) {
		return schedule{}, fmt.Errorf("has %d fields, a cron expression has %d: minute, hour, day of the month, month, day of the week",
			len(parts), len(fields))
	}
	var sets [5]uint64
	for i, part := range parts {
		set, err := fields[i].set(part)
		if err != nil {
			return schedule{}, err
		}
		sets[i] = set
	}
	if sets[4]&(1<<7) != 0 {
		sets[4] |= 1
	}
	return schedule{
		minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4],
		anyDay: strings.HasPrefix(parts[2], "*"), anyWeekday: strings.HasPrefix(parts[4], "*"),
	}, nil
}

// set reads one field.
func (f field) set(text string) (uint64, error) {
	var set uint64
	for item := range strings.SplitSeq(text, ",") {
		first, last, step, err := f.item(item)
		if err != nil {
			return 0, fmt.Errorf("%s %q: %w", f.name, item, err)
		}
		for value := first; value <= last; value += step {
			set |= 1 << value
		}
	}
	return set, nil
}

// item reads one item of a list: *, a value, or a range, with or without a step.
func (f field) item(text string) (first, last, step int, err error) {
	values, stepText, stepped := strings.Cut(text, "/")
	step = 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 || step > f.max {
			return 0, 0, 0, fmt.Errorf("the step must be a number from 1 to %d", f.max)
		}
	}
	if values == "*" {
		return f.min, f.max, step, nil
	}
	from, to, ranged := strings.Cut(values, "-")
	if first, err = f.value(from); err != nil {
		return 0, 0, 0, err
	}
	switch {
	case ranged:
		last, err = f.value(to)
	case stepped:
		last = f.max
	default:
		last = first
	}
	if err == nil && last < first {
		err = fmt.Errorf("the range ends before it begins")
	}
	return first, last, step, err
}

func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, nil
		}
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < f.min || value > f.max {
		return 0, fmt.Errorf("must be a value from %d to %d", f.min, f.max)
	}
	return value, nil
}

// horizon is how far into the future a start is looked for: long enough for a 29th of
// February.
const horizon = 9 * 366 * 24 * time.Hour

// next gives the first start after t, in the location of t; ok is false when there is none.
func (s schedule) next(t time.Time) (start time.Time, ok bool) {
	limit := t.Add(horizon)
	at := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute()+1, 0, 0, t.Location())
	for at.Before(limit) {
		switch {
		case s.months&(1<<at.Month()) == 0:
			at = time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, at.Location())
		case !s.onDay(at):
			at = time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, at.Location())
		case s.hours&(1<<at.Hour()) == 0:
			at = at.Truncate(time.Minute).Add(time.Duration(60-at.Minute()) * time.Minute)
		case s.minutes&(1<<at.Minute()) == 0:
			at = at.Add(time.Minute)
		default:
			return at, true
		}
	}
	return time.Time{}, false
}

func (s schedule) onDay(t time.Time) bool {
	day := s.days&(1<<t.Day()) != 0
	weekday := s.weekdays&(1<<t.Weekday()) != 0
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}
