// SPDX-License-Identifier: Apache-2.0

package window

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

func at(g *WithT, text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	g.Expect(err).NotTo(HaveOccurred())
	return t
}

func TestScheduleNext(t *testing.T) {
	tests := []struct{ name, schedule, given, want string }{
		{"every minute", "* * * * *", "2026-03-01T10:00:30Z", "2026-03-01T10:01:00Z"},
		{"a start is not after itself", "0 10 * * *", "2026-03-01T10:00:00Z", "2026-03-02T10:00:00Z"},
		{"the minute before", "0 10 * * *", "2026-03-01T09:59:59Z", "2026-03-01T10:00:00Z"},
		{"steps", "*/20 * * * *", "2026-03-01T10:20:00Z", "2026-03-01T10:40:00Z"},
		{"a step from a value", "50/5 * * * *", "2026-03-01T10:50:00Z", "2026-03-01T10:55:00Z"},
		{"ranges and lists", "0 8-9,18 * * *", "2026-03-01T09:00:00Z", "2026-03-01T18:00:00Z"},
		{"names of days", "0 0 * * mon", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"7 is Sunday", "0 0 * * 7", "2026-03-02T00:00:00Z", "2026-03-08T00:00:00Z"},
		{"names of months", "0 0 1 jan *", "2026-03-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"the 29th of February", "0 0 29 2 *", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"either of two restricted days", "0 0 15 * mon", "2026-03-09T00:00:00Z", "2026-03-15T00:00:00Z"},
		{"the end of a year", "0 0 * * *", "2026-12-31T12:00:00Z", "2027-01-01T00:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			schedule, err := parse(tt.schedule)
			g.Expect(err).NotTo(HaveOccurred())
			start, ok := schedule.next(at(g, tt.given))
			g.Expect(ok).To(BeTrue())
			g.Expect(start.Format(time.RFC3339)).To(Equal(tt.want))
		})
	}
}

func TestScheduleWithoutStart(t *testing.T) {
	g := NewWithT(t)
	schedule, err := parse("0 0 30 2 *")
	g.Expect(err).NotTo(HaveOccurred())
	_, ok := schedule.next(at(g, "2026-03-01T00:00:00Z"))
	g.Expect(ok).To(BeFalse())
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, given, want string }{
		{"four fields", "* * * *", "has 4 fields"},
		{"a value out of range", "60 * * * *", "minute"},
		{"no number", "0 noon * * *", "hour"},
		{"a step of nothing", "*/0 * * * *", "step"},
		{"a step beyond the field, and beyond what can be added up", "5/9223372036854775807 * * * *", "step"},
		{"a backward range", "0 9-8 * * *", "range"},
		{"day 0", "0 0 0 * *", "day of the month"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.given)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tt.want)))
		})
	}
}

func allow(schedule string, d time.Duration) corev1alpha1.SyncWindow {
	return corev1alpha1.SyncWindow{Allow: true, Schedule: schedule, Duration: metav1.Duration{Duration: d}}
}

func deny(schedule string, d time.Duration) corev1alpha1.SyncWindow {
	return corev1alpha1.SyncWindow{Deny: true, Schedule: schedule, Duration: metav1.Duration{Duration: d}}
}

func TestWindows(t *testing.T) {
	night := allow("0 22 * * *", 2*time.Hour)
	berlin := night
	berlin.TimeZone = "Europe/Berlin"
	tests := []struct {
		name     string
		windows  []corev1alpha1.SyncWindow
		given    string
		wantOpen bool
		wantNext string
	}{
		{"no window", nil, "2026-03-01T10:00:00Z", true, "2026-03-01T10:00:00Z"},
		{"before a window", []corev1alpha1.SyncWindow{night}, "2026-03-01T10:00:00Z", false, "2026-03-01T22:00:00Z"},
		{"at its beginning", []corev1alpha1.SyncWindow{night}, "2026-03-01T22:00:00Z", true, "2026-03-01T22:00:00Z"},
		{"at its end", []corev1alpha1.SyncWindow{night}, "2026-03-02T00:00:00Z", false, "2026-03-02T22:00:00Z"},
		{"in another time zone", []corev1alpha1.SyncWindow{berlin}, "2026-03-01T21:30:00Z", true, "2026-03-01T21:30:00Z"},
		{"denied", []corev1alpha1.SyncWindow{deny("0 8 * * *", time.Hour)}, "2026-03-01T08:30:00Z", false, "2026-03-01T09:00:00Z"},
		{"not denied", []corev1alpha1.SyncWindow{deny("0 8 * * *", time.Hour)}, "2026-03-01T09:30:00Z", true, "2026-03-01T09:30:00Z"},
		{"denied inside of what is allowed", []corev1alpha1.SyncWindow{night, deny("30 22 * * *", time.Hour)},
			"2026-03-01T22:45:00Z", false, "2026-03-01T23:30:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			windows, err := Parse(tt.windows)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(windows.Open(at(g, tt.given))).To(Equal(tt.wantOpen))
			opening, ok := windows.Next(at(g, tt.given))
			g.Expect(ok).To(BeTrue())
			g.Expect(opening.UTC().Format(time.RFC3339)).To(Equal(tt.wantNext))
		})
	}
}

func TestWindowsThatNeverOpen(t *testing.T) {
	g := NewWithT(t)
	windows, err := Parse([]corev1alpha1.SyncWindow{allow("0 0 30 2 *", time.Hour)})
	g.Expect(err).NotTo(HaveOccurred())
	_, ok := windows.Next(at(g, "2026-03-01T00:00:00Z"))
	g.Expect(ok).To(BeFalse())
}

func TestParseWindowErrors(t *testing.T) {
	zone := allow("* * * * *", time.Hour)
	zone.TimeZone = "Mars/Olympus"
	tests := []struct {
		name  string
		given corev1alpha1.SyncWindow
		want  string
	}{
		{"a bad schedule", allow("x", time.Hour), "spec.sync.windows[0].schedule"},
		{"an unknown zone", zone, "spec.sync.windows[0].timeZone"},
		{"no duration", allow("* * * * *", 0), "spec.sync.windows[0].duration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]corev1alpha1.SyncWindow{tt.given})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tt.want)))
		})
	}
}
