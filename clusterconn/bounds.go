// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// Bounds of what a server may answer, in bytes after decompression: who runs the server must not
// get at the memory of the process.
const (
	maxHeaderBytes = 256 << 10 // of the headers of an answer
	maxShortAnswer = 256 << 10 // of version and health
	maxFailure     = 4 << 20   // of an answer that is an error
	maxDiscovery   = 32 << 20  // of discovery and OpenAPI documents
	maxAnswer      = 128 << 20 // of all others
	maxEvent       = 16 << 20  // of one event of a watch; those in protobuf client-go bounds alike
	maxOfTarget    = 256 << 20 // of all answers of a target that are being read
	maxOfProcess   = 1 << 30   // of all answers of all targets that are being read
)

// AnswerTooLargeError says that a server's answer was given up because of its size.
type AnswerTooLargeError struct {
	Server, Path string
	// What exceeds the bound: "the answer", for example.
	What  string
	Bound int64 // in bytes
}

func (e *AnswerTooLargeError) Error() string {
	return fmt.Sprintf("%s of %s to %s: more than %s", e.What, e.Server, e.Path, resource.NewQuantity(e.Bound, resource.BinarySI))
}

// budget counts the bytes of answers that are being read.
type budget struct {
	bound int64
	what  string
	used  atomic.Int64
}

var ofProcess = &budget{bound: maxOfProcess, what: "all answers that are being read, with that"}

// boundedTransport bounds the answers of a server.
type boundedTransport struct {
	server   string
	prefix   string // path of the server's URL
	delegate http.RoundTripper
	budgets  []*budget
}

func newBoundedTransport(delegate http.RoundTripper, server, prefix string) *boundedTransport {
	ofTarget := &budget{bound: maxOfTarget, what: "all answers of the target that are being read, with that"}
	return &boundedTransport{server: server, prefix: prefix, delegate: delegate, budgets: []*budget{ofTarget, ofProcess}}
}

func (t *boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.delegate.RoundTrip(request)
	if err != nil || response.StatusCode == http.StatusSwitchingProtocols {
		return response, err
	}
	body := &boundedBody{ReadCloser: response.Body, server: t.server, path: request.URL.Path, what: "the answer", budgets: t.budgets}
	path := strings.TrimPrefix(request.URL.Path, strings.TrimSuffix(t.prefix, "/"))
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		body.bound = maxFailure
	case isWatch(request):
		// Those in protobuf bear their length, which client-go bounds.
		// The media type is parsed as client-go does: a parameter must not pass for it.
		media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
		body.watch, body.framed = true, media == runtime.ContentTypeProtobuf
		body.bound, body.what = maxEvent, "an event"
	default:
		body.bound = boundOf(path)
	}
	response.Body = body
	return response, nil
}

func (t *boundedTransport) WrappedRoundTripper() http.RoundTripper { return t.delegate }

func isWatch(request *http.Request) bool {
	watch := request.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

func boundOf(path string) int64 {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch parts[0] {
	case "version", "livez", "readyz", "healthz":
		return maxShortAnswer
	case "openapi":
		return maxDiscovery
	case "api":
		if len(parts) <= 2 {
			return maxDiscovery
		}
	case "apis":
		if len(parts) <= 3 {
			return maxDiscovery
		}
	}
	return maxAnswer
}

// boundedBody is the body of an answer. It is read by one goroutine at a time.
type boundedBody struct {
	io.ReadCloser
	server, path, what string
	bound              int64
	watch, framed      bool
	events             eventScanner
	read               int64 // of the answer, or of the present event
	budgets            []*budget
	held               atomic.Int64 // of the budgets
	failure            error
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.failure != nil {
		return 0, b.failure
	}
	n, err := b.ReadCloser.Read(p)
	switch {
	case b.framed:
		return n, err
	case b.watch:
		b.read = b.events.scan(p[:n], b.read)
	default:
		b.read += int64(n)
		b.hold(int64(n))
	}
	if b.read > b.bound {
		b.failure = b.tooLarge(b.what, b.bound)
	}
	if b.failure != nil {
		return 0, b.failure
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.failure = err
	}
	return n, err
}

func (b *boundedBody) hold(n int64) {
	b.held.Add(n)
	for _, budget := range b.budgets {
		if budget.used.Add(n) > budget.bound {
			b.failure = b.tooLarge(budget.what, budget.bound)
		}
	}
}

func (b *boundedBody) tooLarge(what string, bound int64) error {
	return &AnswerTooLargeError{Server: b.server, Path: b.path, What: what, Bound: bound}
}

func (b *boundedBody) Close() error {
	held := b.held.Swap(0)
	for _, budget := range b.budgets {
		budget.used.Add(-held)
	}
	return b.ReadCloser.Close()
}

// eventScanner finds where JSON objects end. Line ends do not tell: they may be within one.
type eventScanner struct {
	depth             int
	inString, escaped bool
}

// scan gives how many bytes the last, unfinished object has, of which so many were seen before;
// what is between two counts for the second. The largest of all is given when it is beyond
// maxEvent.
func (s *eventScanner) scan(data []byte, before int64) int64 {
	for _, c := range data {
		before++
		switch {
		case before > maxEvent:
			return before
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped, s.inString = c == '\\', c != '"'
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth <= 0 {
				s.depth, before = 0, 0
			}
		}
	}
	return before
}
