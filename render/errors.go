// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"strings"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render/internal/limit"
	"kumodo.io/convoy/render/internal/manifest"
	"kumodo.io/convoy/render/internal/mutation"
	"kumodo.io/convoy/render/internal/scrub"
	"kumodo.io/convoy/render/internal/values"
)

// Error tells why content cannot be rendered. Rendering the same inputs again gives the
// same Error, unless it is Limits.Time that was met. Errors of other types come from the
// interfaces of Input and may pass.
type Error struct {
	// Reason is one of the Reason constants of the core API.
	Reason string
	// Message for people: it names the place and the cause, and shows no values of Secrets.
	Message string

	cause error
	// passing is true when the same inputs may be rendered another time.
	passing bool
}

// Error gives the message.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause; nil when its text could show values of Secrets.
func (e *Error) Unwrap() error { return e.cause }

func failure(reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return clean(&Error{Reason: reason, Message: err.Error(), cause: errors.Unwrap(err)}, nil)
}

// longest is the most that a message holds: engines cite whole templates.
const longest = 4096

// engineError makes an Error of what an engine says. Where an object is at fault rather
// than the text it came from, the reason says so.
func engineError(err error, secrets *scrub.Scrubber) *Error {
	reason := corev1alpha1.ReasonRenderFailed
	var invalid *manifest.InvalidError
	var known *Error
	var stopped *limit.Error
	var unusable *mutation.InvalidError
	switch {
	case errors.As(err, &known):
		reason = known.Reason
	case errors.As(err, &unusable):
		reason = corev1alpha1.ReasonInvalidConfiguration
	case errors.As(err, &invalid):
		reason = corev1alpha1.ReasonInvalidObjects
	}
	passing := errors.As(err, &stopped) && stopped.Passing
	return clean(&Error{Reason: reason, Message: err.Error(), cause: err, passing: passing}, secrets)
}

// clean takes secrets out of an Error, and what is too much: a message of any length costs
// what one of scrub.Searched bytes costs.
func clean(err *Error, secrets *scrub.Scrubber) *Error {
	if secrets != nil {
		err.Message, err.cause = secrets.Text(err.Message), nil
	}
	if len(err.Message) > longest {
		err.Message = strings.ToValidUTF8(err.Message[:longest], "") + " …"
		err.cause = nil // which is as long
	}
	return err
}

// valuesError gives the Error of values that are missing or unusable. Errors of References
// stay as they are.
func valuesError(err error) error {
	var missing *values.MissingError
	var invalid *values.InvalidError
	var stopped *limit.Error
	switch {
	case errors.As(err, &missing) && missing.Kind == "Secret" && missing.Key == "":
		return failure(corev1alpha1.ReasonSecretNotFound, "%w", err)
	case errors.As(err, &missing) && missing.Kind == "Secret":
		return failure(corev1alpha1.ReasonSecretInvalid, "%w", err)
	case errors.As(err, &missing), errors.As(err, &invalid), errors.As(err, &stopped):
		return failure(corev1alpha1.ReasonRenderFailed, "%w", err)
	}
	return err
}

// deterministic tells whether trying again would be in vain.
func deterministic(err error) bool {
	var known *Error
	return errors.As(err, &known) && !known.passing
}
