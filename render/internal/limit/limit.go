// SPDX-License-Identifier: Apache-2.0

// Package limit says that a render was stopped because it would take too much.
package limit

import (
	"context"
	"errors"
	"fmt"
)

// Error says which limit was met.
type Error struct {
	// Limit that was met, and what it is.
	Limit string
	// Passing is true when another time, or on another machine, it might not be met.
	Passing bool
}

// Error names the limit.
func (e *Error) Error() string { return "stopped: " + e.Limit }

// New gives an Error for a limit that the same input always meets.
func New(format string, args ...any) *Error { return &Error{Limit: fmt.Sprintf(format, args...)} }

// The flags by which a process sets limits.
const (
	FlagTime  = "render-timeout"
	FlagBytes = "render-max-bytes"
	// FlagRatio is that of archives which are fetched; those inside of charts are held to it.
	FlagRatio = "artifact-max-ratio"
)

// Of gives an Error for a limit that the same input always meets, and that a flag sets.
func Of(flag, format string, args ...any) *Error {
	e := New(format, args...)
	e.Limit += "; raise --" + flag
	return e
}

// Time gives the Error for what took too long.
func Time() *Error {
	e := Of(FlagTime, "rendering takes too long")
	e.Passing = true
	return e
}

// Ended gives why nothing is to be done for a context any more, nil while something is: Time
// when its time is over, the context's error when nobody waits any more.
func Ended(ctx context.Context) error {
	if err := ctx.Err(); err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return Time()
}

// Size writes a number of bytes for people.
func Size(bytes int64) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
