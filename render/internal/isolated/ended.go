// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/klog/v2"

	"kumodo.io/convoy/render/internal/engine"
	"kumodo.io/convoy/render/internal/limit"
)

// FlagMemory is the flag by which a process sets how much memory a worker may take.
const FlagMemory = "render-max-memory"

// LeastMemory is what a worker needs to do anything.
const LeastMemory = 128 << 20

// Reason is why a worker ended.
type Reason string

// Reasons.
const (
	Time   Reason = "time"
	Memory Reason = "memory"
	Stack  Reason = "stack"
	Crash  Reason = "crash"
)

// EndedError tells of a render whose worker ended. A *limit.Error is in its chain.
type EndedError struct {
	Reason Reason
	// Place is what was rendered, as far as it is known.
	Place string
	// LastWords are what the worker wrote about its end, for operators; no values are in it.
	LastWords string

	limit *limit.Error
}

// Error names the place and the limit.
func (e *EndedError) Error() string { return fmt.Sprintf("%s: %v", e.Place, e.limit) }

// Unwrap gives the limit.
func (e *EndedError) Unwrap() error { return e.limit }

// PanickedError tells of content at which a library panicked.
type PanickedError struct {
	// Place is what was rendered, as far as it is known, Type that of the panic, whose text may
	// show values.
	Place, Type string
}

// Error names the place.
func (e *PanickedError) Error() string {
	return fmt.Sprintf("%s: the library that renders it panicked (%s): something in it is missing, null, or of another type than the library expects", e.Place, e.Type)
}

// Panicked gives the error of a job whose engine panicked, with the file that was read last, and
// logs where in the engine that was.
func Panicked(ctx context.Context, j engine.Job, last, panicType, stack string) *PanickedError {
	e := &PanickedError{Place: placeOf(j, last), Type: panicType}
	klog.FromContext(ctx).Info("Rendering panicked", "place", e.Place, "type", panicType, "stack", stack)
	return e
}

// BrokenError is a fault of this process and not of the content: a worker cannot be started.
type BrokenError struct{ Err error }

// Error gives the fault.
func (e *BrokenError) Error() string { return e.Err.Error() }

// Unwrap gives the fault.
func (e *BrokenError) Unwrap() error { return e.Err }

// endedError tells why a worker is no good any more, once it has ended.
func (p *process) endedError(ctx context.Context, memory int64) *EndedError {
	e := &EndedError{LastWords: p.words.String()}
	switch said := e.LastWords; {
	case ctx.Err() != nil:
		e.Reason, e.limit = Time, limit.Time()
	case errors.Is(p.fault, errTooMuch):
		e.Reason, e.limit = Memory, limit.Of(limit.FlagBytes, "the objects are too large")
	case p.cmd.ProcessState.ExitCode() == exitMemory, strings.Contains(said, "out of memory"), strings.Contains(said, "cannot allocate memory"):
		e.Reason, e.limit = Memory, limit.Of(FlagMemory, "it takes more than %s of memory", limit.Size(memory))
	case strings.Contains(said, "stack overflow"):
		e.Reason, e.limit = Stack, limit.New("the stack of the engine overflows; something is nested too deep, or contains itself")
	default:
		e.Reason = Crash
		e.limit = &limit.Error{Limit: fmt.Sprintf("the process that renders ended twice (%s)", p.cmd.ProcessState), Passing: true}
	}
	return e
}

// maxWords is how much of a worker's last words is kept.
const maxWords = 4096

// words keeps what a worker writes about its end, which the Go runtime begins in a known way.
// Whatever else is written is dropped: libraries cite values in warnings.
type words struct {
	begun bool
	line  []byte
	kept  bytes.Buffer
}

// Write takes what was written; it never fails.
func (w *words) Write(p []byte) (int, error) {
	written := len(p)
	for !w.begun && len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		w.line = append(w.line, line[:min(len(line), max(0, maxWords-len(w.line)))]...)
		if whole || len(w.line) >= maxWords {
			w.begin()
		}
		p = rest
	}
	if w.begun {
		w.kept.Write(p[:min(len(p), maxWords-w.kept.Len())])
	}
	return written, nil
}

// begin looks at a line whether it is the first of the last words.
func (w *words) begin() {
	for _, beginning := range []string{"runtime: ", "fatal error: ", "goroutine ", "SIG", "unexpected fault"} {
		if bytes.HasPrefix(w.line, []byte(beginning)) {
			w.begun = true
			w.kept.Write(append(w.line, '\n'))
		}
	}
	w.line = w.line[:0]
}

// String gives the words.
func (w *words) String() string { return strings.ToValidUTF8(strings.TrimSpace(w.kept.String()), "") }
