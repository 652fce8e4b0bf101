// SPDX-License-Identifier: Apache-2.0

// Package check judges an installation of convoy by what its host says of it: pure functions of
// what was read, each of which gives lines of a report with what to do.
package check

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Status is how a check ended.
type Status string

// Statuses of checks. What may not be read is skipped, and no failure.
const (
	OK      Status = "ok"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Check is one line of a report.
type Check struct {
	// Section is what it is about: Host, API, Processes, …
	Section string `json:"section"`
	Status  Status `json:"status"`
	// Message says what was found.
	Message string `json:"message"`
	// Do is the next command or step, of what failed.
	Do string `json:"do,omitempty"`
}

// Report is what was found, in the order in which it was looked at.
type Report struct {
	Checks []Check `json:"checks"`
	Failed int     `json:"failed"`
}

// Add adds lines to a section.
func (r *Report) Add(section string, checks ...Check) {
	for _, check := range checks {
		check.Section = section
		if check.Status == Failed {
			r.Failed++
		}
		r.Checks = append(r.Checks, check)
	}
}

func ok(format string, args ...any) Check {
	return Check{Status: OK, Message: fmt.Sprintf(format, args...)}
}

func failed(do, format string, args ...any) Check {
	return Check{Status: Failed, Message: fmt.Sprintf(format, args...), Do: do}
}

// NotRead is the line of what could not be read: skipped where the user may not.
func NotRead(what, do string, err error) Check {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return Check{Status: Skipped, Message: what + ": you may not read that"}
	}
	return failed(do, "%s: %v", what, err)
}
