// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// requestTimeout is how long a request may take until its answer has been read. API servers give
// theirs up after 60 seconds unless they are told otherwise.
const requestTimeout = 90 * time.Second

// TimeoutError says that a request was given up because of the time it took. It is an
// ErrUnreachable: the server may well answer others.
type TimeoutError struct {
	Method, Server, Path string
	// For is what was waited for: "answer", for example.
	For string
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("%v: %s %s to %s: no %s within %s", ErrUnreachable, e.Method, e.Path, e.Server, e.For, requestTimeout)
}

// Unwrap gives the class.
func (e *TimeoutError) Unwrap() error { return ErrUnreachable }

// limited gives the context of a request. When its time is over, the cause is late.
func limited(request *http.Request, late *TimeoutError) (context.Context, context.CancelFunc) {
	if isLongRunning(request) {
		return context.WithCancel(request.Context())
	}
	return context.WithTimeoutCause(request.Context(), requestTimeout, late)
}

// isLongRunning tells the requests whose answers have no end of their own.
func isLongRunning(request *http.Request) bool {
	return isWatch(request) || isTrue(request, "follow") || request.Header.Get("Upgrade") != ""
}

// outOfTime gives the error of a request whose context is ctx; it says what was waited for where
// its time was over.
func outOfTime(ctx context.Context, err error, waitedFor string) error {
	if timeout, ok := errors.AsType[*TimeoutError](context.Cause(ctx)); ok {
		said := *timeout
		said.For = waitedFor
		return &said
	}
	return err
}
