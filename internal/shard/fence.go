// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// ErrLeaseRanOut is what errors of writes that a Fence refused are. They are a
// context.Canceled as well: the work is about to be cut off.
var ErrLeaseRanOut = errors.New("not sent, because this replica's time on a shard ran out and another may work on it by now")

// refusal is the error of a write that was refused.
type refusal struct{ over time.Duration }

func (e *refusal) Error() string {
	return fmt.Sprintf("%v (it ran out %s ago)", ErrLeaseRanOut, e.over.Round(time.Millisecond))
}

func (e *refusal) Is(target error) bool {
	return target == ErrLeaseRanOut || target == context.Canceled
}

// Fence refuses writes while work may be under way on a shard that another replica may have
// taken. It stands in the transports, behind everything that a request waits for, and looks
// at the clock itself: a process that was stopped for a while comes back with its writes
// half way out, and none of its goroutines has learnt yet that time has passed.
//
// It is about the process as a whole: from the moment at which the time on one shard runs
// out until the subscribers have stopped the work on it, nothing is written for any shard.
// That happens after a pause, while the host is out of reach, or when somebody else wrote
// the Lease, and lasts as long as it takes to cut the work off.
//
// The zero value lets everything through until a Manager has it in its Options.
type Fence struct {
	manager atomic.Pointer[Manager]
}

// Check returns an error that is an ErrLeaseRanOut while nothing may be written.
func (f *Fence) Check() error {
	m := f.manager.Load()
	if m == nil {
		return nil
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.ending.IsZero() {
		return nil
	}
	if over := m.clock.Since(m.ending); over >= 0 {
		return &refusal{over: over}
	}
	return nil
}

// Wrap returns a transport that asks the fence before it passes a write on, and again
// whenever a piece of its body is taken to be sent: in between, a connection may have to be
// opened or credentials to be fetched. A write whose body is not sent to its end is none to
// the server. What has left the process cannot be called back; so that a shard is not given up
// before its last write has taken effect, one whose caller is cut off is waited for, if it is
// answered soon. Reads pass.
func (f *Fence) Wrap(next http.RoundTripper) http.RoundTripper {
	return &fencedTransport{fence: f, delegate: next}
}

type fencedTransport struct {
	fence    *Fence
	delegate http.RoundTripper
}

func (t *fencedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, "":
		return t.delegate.RoundTrip(request)
	}
	if err := t.fence.Check(); err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	return t.finished(t.guarded(request))
}

// lingering is how long a write is waited for when its caller was cut off.
const lingering = 3 * time.Second

// finished sends a write. A cancelled request is forgotten by the client, not by the server: it
// is cancelled only when the caller's time is over, when that on a shard is, or when no answer
// comes. That may be known: the cause of the cancellation has a method NoAnswer then.
func (t *fencedTransport) finished(request *http.Request) (*http.Response, error) {
	caller := request.Context()
	ctx, cancel := context.WithCancel(context.WithoutCancel(caller))
	stop := context.AfterFunc(caller, func() {
		if errors.Is(caller.Err(), context.Canceled) && !noAnswer(context.Cause(caller)) && t.fence.Check() == nil {
			select {
			case <-time.After(lingering):
			case <-ctx.Done():
			}
		}
		cancel()
	})
	end := func() { stop(); cancel() }
	response, err := t.delegate.RoundTrip(request.WithContext(ctx))
	if err != nil {
		end()
		if caller.Err() != nil && errors.Is(err, context.Canceled) && !errors.Is(err, ErrLeaseRanOut) {
			err = caller.Err()
		}
		return nil, err
	}
	response.Body = answer{response.Body, end}
	return response, nil
}

func noAnswer(cause error) bool {
	known, ok := errors.AsType[interface {
		error
		NoAnswer() bool
	}](cause)
	return ok && known.NoAnswer()
}

// answer is the body of the answer to a write; end frees what was kept for it.
type answer struct {
	io.ReadCloser
	end func()
}

func (a answer) Close() error {
	defer a.end()
	return a.ReadCloser.Close()
}

func (t *fencedTransport) WrappedRoundTripper() http.RoundTripper { return t.delegate }

// guarded gives the request with a body that asks the fence. Requests are not the
// transport's to change.
func (t *fencedTransport) guarded(request *http.Request) *http.Request {
	if request.Body == nil || request.Body == http.NoBody {
		return request
	}
	original := request
	request = request.WithContext(request.Context())
	request.Body = fencedBody{original.Body, t.fence}
	if original.GetBody != nil {
		request.GetBody = func() (io.ReadCloser, error) {
			body, err := original.GetBody()
			if err != nil {
				return nil, err
			}
			return fencedBody{body, t.fence}, nil
		}
	}
	return request
}

// fencedBody is the body of a write.
type fencedBody struct {
	io.ReadCloser
	fence *Fence
}

func (b fencedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if refused := b.fence.Check(); refused != nil {
		return 0, refused
	}
	return n, err
}
