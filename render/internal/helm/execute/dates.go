// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"text/template"
	"time"
	_ "time/tzdata" // for hosts without a database of time zones
)

// dates gives the functions that read and write dates: in UTC where they would take the time
// zone of the host, and by a clock that is ahead. all are the functions of the library.
func dates(all template.FuncMap, ahead time.Duration) template.FuncMap {
	const day = "2006-01-02"
	write := all["dateInZone"].(func(string, any, string) string)
	ago, round := all["ago"].(func(any) string), all["durationRound"].(func(any) string)
	now := func() time.Time { return time.Now().UTC().Add(ahead) }
	in := func(format string, date any, zone string) string {
		if zone == "Local" {
			zone = "UTC"
		}
		switch date.(type) {
		case time.Time, *time.Time, int64, int, int32:
		default:
			date = now() // as the library does
		}
		return write(format, date, zone)
	}
	return template.FuncMap{
		"now":            now,
		"date":           func(format string, date any) string { return in(format, date, "UTC") },
		"dateInZone":     in,
		"date_in_zone":   in,
		"htmlDate":       func(date any) string { return in(day, date, "UTC") },
		"htmlDateInZone": func(date any, zone string) string { return in(day, date, zone) },
		"ago":            func(date any) string { return ago(earlier(date, ahead)) },
		"durationRound": func(duration any) string {
			if since, ok := duration.(time.Time); ok {
				return round(earlier(since, ahead))
			}
			return round(duration)
		},
		"toDate": func(format, text string) time.Time {
			t, _ := time.ParseInLocation(format, text, time.UTC) // what is no date is the zero one
			return t
		},
		"mustToDate": func(format, text string) (time.Time, error) {
			return time.ParseInLocation(format, text, time.UTC)
		},
	}
}

// earlier gives the date that is as long ago as a date will be by a clock that is ahead.
func earlier(date any, ahead time.Duration) any {
	switch date := date.(type) {
	case time.Time:
		return date.Add(-ahead)
	case int64:
		return time.Unix(date, 0).Add(-ahead)
	case int:
		return time.Unix(int64(date), 0).Add(-ahead)
	}
	return date
}
