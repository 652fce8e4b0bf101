// SPDX-License-Identifier: Apache-2.0

package base

import (
	"errors"
	"fmt"
)

// ErrUnowned is the cause (context.Cause) with which the context of a reconcile ends when
// its key is no longer owned by this process.
var ErrUnowned = errors.New("the key is no longer owned by this process")

// terminalError marks an error whose repetition would change nothing.
type terminalError struct{ cause error }

func (e *terminalError) Error() string { return e.cause.Error() }
func (e *terminalError) Unwrap() error { return e.cause }

// Terminal marks err as one that only a new event can mend, such as an invalid spec: the
// key is not retried with backoff. The text stays, and errors.Is and errors.As see through
// the mark. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{cause: err}
}

// IsTerminal says whether err, or an error that it wraps, was marked by Terminal.
func IsTerminal(err error) bool {
	_, ok := errors.AsType[*terminalError](err)
	return ok
}

// panicError is what a panic of the reconciler becomes.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Unwrap gives the value of the panic when it is an error itself.
func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}
