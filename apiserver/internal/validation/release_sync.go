// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

const (
	maxWindows = 64
	maxRetries = 1_000_000
	minBackoff = 100 * time.Millisecond
)

// sync checks when and how objects are applied.
func sync(path *field.Path, s *corev1alpha1.SyncSpec) field.ErrorList {
	errs := oneOf(path.Child("mode"), s.Mode, corev1alpha1.SyncModeAutomatic, corev1alpha1.SyncModeManual)
	errs = append(errs, windows(path.Child("windows"), s.Windows)...)
	errs = append(errs, oneOf(path.Child("replace"), s.Replace, corev1alpha1.ReplaceNever, corev1alpha1.ReplaceOnImmutable)...)
	errs = append(errs, oneOf(path.Child("conflicts"), s.Conflicts, corev1alpha1.ConflictsOverride, corev1alpha1.ConflictsFail)...)
	errs = append(errs, duration(path.Child("interval"), s.Interval, second, 30*day)...)
	errs = append(errs, duration(path.Child("timeout"), s.Timeout, second, 7*day)...)
	errs = append(errs, oneOf(path.Child("onFailure"), s.OnFailure, corev1alpha1.OnFailureNone, corev1alpha1.OnFailureRollback)...)
	if s.Retry != nil {
		errs = append(errs, retry(path.Child("retry"), s.Retry)...)
	}
	return errs
}

func retry(path *field.Path, r *corev1alpha1.RetrySpec) field.ErrorList {
	var errs field.ErrorList
	if r.Limit != nil {
		errs = append(errs, number(path.Child("limit"), *r.Limit, -1, maxRetries)...)
	}
	errs = append(errs, duration(path.Child("initialBackoff"), r.InitialBackoff, minBackoff, day)...)
	errs = append(errs, duration(path.Child("maxBackoff"), r.MaxBackoff, minBackoff, 7*day)...)
	if r.InitialBackoff != nil && r.MaxBackoff != nil && r.MaxBackoff.Duration < r.InitialBackoff.Duration {
		errs = append(errs, field.Invalid(path.Child("maxBackoff"), r.MaxBackoff.Duration.String(), "may not be shorter than initialBackoff"))
	}
	return errs
}

func windows(path *field.Path, list []corev1alpha1.SyncWindow) field.ErrorList {
	errs := atMost(path, list, maxWindows)
	for i, window := range list {
		item := path.Index(i)
		errs = append(errs, exactlyOne(item, choice{"allow", window.Allow}, choice{"deny", window.Deny})...)
		errs = append(errs, schedule(item.Child("schedule"), window.Schedule)...)
		errs = append(errs, presentDuration(item.Child("duration"), window.Duration, time.Minute, 31*day)...)
		// "" and "Local" would load, as the zone of wherever a server happens to run.
		if _, err := time.LoadLocation(window.TimeZone); err != nil || window.TimeZone == "" || window.TimeZone == "Local" {
			errs = append(errs, field.Invalid(item.Child("timeZone"), window.TimeZone, "must be the IANA name of a time zone, for example Europe/Berlin"))
		}
	}
	return errs
}

// drift checks whether and where drift is looked for.
func drift(path *field.Path, d *corev1alpha1.DriftSpec) field.ErrorList {
	if d == nil {
		return nil
	}
	errs := oneOf(path.Child("mode"), d.Mode, corev1alpha1.DriftModeEnabled, corev1alpha1.DriftModeDisabled)
	ignore := path.Child("ignore")
	errs = append(errs, atMost(ignore, d.Ignore, maxItems)...)
	for i := range d.Ignore {
		item, rule := ignore.Index(i), &d.Ignore[i]
		errs = append(errs, selector(item.Child("target"), &rule.Target)...)
		if len(rule.Paths) == 0 {
			errs = append(errs, field.Required(item.Child("paths"), "at least one field must be named; an object as a whole is ignored by its annotation "+corev1alpha1.AnnotationDrift))
		}
		errs = append(errs, atMost(item.Child("paths"), rule.Paths, maxItems)...)
		for j, value := range rule.Paths {
			errs = append(errs, pointer(item.Child("paths").Index(j), value)...)
		}
	}
	return errs
}
