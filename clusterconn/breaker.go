// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

const (
	// patience is how long a request goes without an answer before the server is asked
	// whether it answers at all, and again after that.
	patience = 3 * time.Second
	// questionTimeout is how long it has to answer that.
	questionTimeout = 5 * time.Second
	// questionPause, and up to questionJitter times as much on top, is between two such
	// questions to a server that does not answer.
	questionPause  = time.Second
	questionJitter = 4
	// questionPath is what every API server answers to everybody, ahead of all that waits for
	// its turn.
	questionPath = "/livez"
	// questionAnswer is how many bytes of the answer are read, to keep the connection.
	questionAnswer = 1 << 10
)

// errSilent is what came of a question that got no answer.
var errSilent = fmt.Errorf("no answer within %s", questionTimeout)

// OutageError is how requests end while their cluster is out of reach: at once, and without
// being sent. It is an ErrUnreachable.
type OutageError struct {
	// Err is what came of asking the cluster whether it answers, when the outage began.
	Err error
}

func (e *OutageError) Error() string { return fmt.Sprintf("%v: %v", ErrUnreachable, e.Err) }

// Unwrap gives the class, and the cause.
func (e *OutageError) Unwrap() []error { return []error{ErrUnreachable, e.Err} }

// NoAnswer says, as the cause of a request's end, that no answer to it will come.
func (e *OutageError) NoAnswer() bool { return true }

// breaker is the circuit breaker of a target: the transport that all connections to it
// share.
//
// A request that fails on the way, that is answered by what stands before a server that is
// gone, or that is not answered for a while, is no proof: servers are restarted and slow. It
// has the server asked one small question. When that fails, all requests under way end with
// an OutageError, and so do all further ones, at once. From then on the question is asked
// again every few seconds, over a new connection, until it is answered: then requests go
// through again. However many requests are in trouble, there is one question at a time.
type breaker struct {
	delegate http.RoundTripper
	clock    clock.WithDelayedExecution
	question string // the URL of it
	agent    string
	changed  func() // is told when requests do not go through any more, or do again

	life context.Context // until close
	end  context.CancelFunc

	mu sync.Mutex
	// era is the time in which requests go through. It ends with an OutageError.
	era    context.Context
	outage context.CancelCauseFunc
	over   chan struct{} // is closed at the end of an outage; nil when there is none
	asking bool          // the server is asked until it answers
}

func newBreaker(delegate http.RoundTripper, clock clock.WithDelayedExecution, server, agent string, changed func()) *breaker {
	b := &breaker{delegate: delegate, clock: clock, question: server + questionPath, agent: agent, changed: changed}
	b.life, b.end = context.WithCancel(context.Background())
	b.era, b.outage = context.WithCancelCause(context.Background())
	return b
}

func (b *breaker) WrappedRoundTripper() http.RoundTripper { return b.delegate }

// RoundTrip sends a request, unless there is an outage. One that begins ends the request,
// or the reading of its answer.
func (b *breaker) RoundTrip(request *http.Request) (*http.Response, error) {
	era := b.present()
	if era.Err() != nil {
		discardBody(request)
		return nil, context.Cause(era)
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	detach := context.AfterFunc(era, func() { cancel(context.Cause(era)) })
	answer := &answer{
		judge: func(err error) error { return b.judge(request.Context(), era, err) },
		done:  func() { detach(); cancel(nil); b.drain() },
	}
	answered := b.impatiently()
	response, err := b.delegate.RoundTrip(request.WithContext(ctx))
	answered()
	if err != nil {
		answer.done()
		return nil, answer.judge(err)
	}
	if cannotServe(response.StatusCode) {
		b.suspect()
	}
	answer.ReadCloser, response.Body = response.Body, answer
	return response, nil
}

func (b *breaker) present() context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.era
}

// judge gives the error of a request its cause, and draws the conclusions from it.
func (b *breaker) judge(caller, era context.Context, err error) error {
	switch {
	case caller.Err() != nil:
		return err
	case era.Err() != nil:
		return context.Cause(era)
	}
	b.suspect()
	return err
}

// impatiently has the server asked whenever patience is over, until the returned function
// is called.
func (b *breaker) impatiently() (answered func()) {
	done := make(chan struct{})
	timer := b.clock.NewTimer(patience)
	go func() {
		defer timer.Stop()
		for {
			select {
			case <-timer.C():
				b.suspect()
				timer.Reset(patience)
			case <-done:
				return
			}
		}
	}()
	return func() {
		timer.Stop()
		close(done)
	}
}

// suspect has the server asked whether it answers, if that is not under way.
func (b *breaker) suspect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.asking && b.life.Err() == nil {
		b.asking = true
		go b.askUntilAnswered()
	}
}

func (b *breaker) askUntilAnswered() {
	for !b.settle(b.ask()) {
		timer := b.clock.NewTimer(wait.Jitter(questionPause, questionJitter))
		select {
		case <-timer.C():
		case <-b.life.Done():
			timer.Stop()
			return
		}
		// Connections that nothing comes back on any more would be used again.
		utilnet.CloseIdleConnectionsFor(b.delegate)
	}
}

// ask asks the server the question. Whatever the server itself says is an answer.
func (b *breaker) ask() error {
	ctx, cancel := context.WithCancelCause(b.life)
	defer cancel(nil)
	defer b.clock.AfterFunc(questionTimeout, func() { cancel(errSilent) }).Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.question, nil)
	if err != nil {
		return err
	}
	if b.agent != "" {
		request.Header.Set("User-Agent", b.agent)
	}
	response, err := b.delegate.RoundTrip(request)
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		return errSilent
	case err != nil:
		return err
	}
	_, _ = io.CopyN(io.Discard, response.Body, questionAnswer)
	_ = response.Body.Close()
	if cannotServe(response.StatusCode) {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}

// settle begins or ends an outage by what came of a question. done is true when no further
// one is to be asked.
func (b *breaker) settle(failure error) (done bool) {
	b.mu.Lock()
	before := b.over != nil
	switch {
	case b.life.Err() != nil:
		b.mu.Unlock()
		return true
	case failure == nil:
		b.asking = false
		b.endOutage()
	case !before:
		b.over = make(chan struct{})
		b.outage(&OutageError{Err: &url.Error{Op: "Get", URL: b.question, Err: failure}})
	}
	b.mu.Unlock()
	if out := failure != nil; out != before {
		b.changed()
	}
	return failure == nil
}

// endOutage is called with the lock held.
func (b *breaker) endOutage() {
	if b.over != nil {
		close(b.over)
		b.over = nil
		b.era, b.outage = context.WithCancelCause(context.Background())
	}
}

// outageOver gives a channel that is closed at the end of the present outage, nil when
// there is none.
func (b *breaker) outageOver() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

// close gives the target up: nobody asks whether it answers any more, requests go through
// whatever becomes of them, and connections are closed as soon as they have no request.
func (b *breaker) close() {
	b.mu.Lock()
	b.end()
	b.endOutage()
	b.mu.Unlock()
	b.drain()
}

// drain closes connections without requests once the target is given up.
func (b *breaker) drain() {
	if b.life.Err() != nil {
		utilnet.CloseIdleConnectionsFor(b.delegate)
	}
}

// answer is the body of an answer.
type answer struct {
	io.ReadCloser
	closed atomic.Bool
	judge  func(error) error
	done   func()
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !a.closed.Load() {
		err = a.judge(err)
	}
	return n, err
}

func (a *answer) Close() error {
	a.closed.Store(true)
	err := a.ReadCloser.Close()
	a.done()
	return err
}

// discardBody closes the body of a request that is not sent, as a transport must.
func discardBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}
