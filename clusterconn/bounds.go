// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// Bounds of what a server may answer, in bytes after decompression: who runs the server must not
// get at the memory of the process. They hold for text; of what takes more once it is decoded,
// there may be less (see meter).
const (
	maxHeaderBytes = 256 << 10 // of the headers of an answer
	maxShortAnswer = 256 << 10 // of version and health
	maxFailure     = 4 << 20   // of an answer that is an error
	maxObject      = 8 << 20   // of an object, also in an event of a watch; etcd takes 1.5 MiB by default
	maxList        = 32 << 20  // of a page of a list, and of a document of discovery or OpenAPI
	// maxKept is of an event of a watch whose buffers, which grow to the largest and stay so, are
	// not worth counting.
	maxKept = 256 << 10
)

// AnswerTooLargeError says that a server's answer was given up because of its size.
type AnswerTooLargeError struct {
	Server, Path string
	// What exceeds the bound: "the answer", for example.
	What  string
	Bound int64 // in bytes of text
}

func (e *AnswerTooLargeError) Error() string {
	return fmt.Sprintf("%s of %s to %s: more than %s, or so many small values that they take as much memory",
		e.What, e.Server, e.Path, resource.NewQuantity(e.Bound, resource.BinarySI))
}

// boundedTransport bounds the answers of a server: what memory they take, and for how long they
// are waited for.
type boundedTransport struct {
	server   string
	prefix   string // path of the server's URL
	delegate http.RoundTripper
	room     room
}

func (t *boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	caller := request.Context()
	late := &TimeoutError{Method: request.Method, Server: t.server, Path: request.URL.Path}
	ctx, cancel := limited(request, late)
	// Requests are not the transport's to change.
	request = request.WithContext(ctx)
	request.Header = onlyJSON(request.Header)
	response, err := t.delegate.RoundTrip(request)
	if err != nil {
		err = outOfTime(ctx, err, "answer")
		cancel()
		return nil, err
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		context.AfterFunc(caller, cancel)
		return response, nil
	}
	body := &boundedBody{
		ReadCloser: response.Body, ctx: ctx, cancel: cancel, late: late, hold: hold{room: t.room},
	}
	body.setBound(request, response, strings.TrimPrefix(request.URL.Path, strings.TrimSuffix(t.prefix, "/")))
	response.Body = body
	return response, nil
}

func (t *boundedTransport) WrappedRoundTripper() http.RoundTripper { return t.delegate }

// onlyJSON asks for nothing but JSON where that is among what is accepted: what else becomes of a
// few bytes of protobuf can only be told by who decodes them.
func onlyJSON(header http.Header) http.Header {
	accepted := strings.Split(header.Get("Accept"), ",")
	isNone := func(accepted string) bool { return !isJSON(accepted) }
	if !slices.ContainsFunc(accepted, isNone) || !slices.ContainsFunc(accepted, isJSON) {
		return header
	}
	header = header.Clone()
	header.Set("Accept", strings.Join(slices.DeleteFunc(accepted, isNone), ","))
	return header
}

// isJSON parses a media type as client-go does: a parameter must not pass for it.
func isJSON(contentType string) bool {
	media, _, _ := mime.ParseMediaType(contentType)
	return media == runtime.ContentTypeJSON
}

func isText(contentType string) bool {
	media, _, _ := mime.ParseMediaType(contentType)
	return strings.HasPrefix(media, "text/")
}

func isWatch(request *http.Request) bool {
	return isTrue(request, "watch")
}

func isTrue(request *http.Request, parameter string) bool {
	value := request.URL.Query().Get(parameter)
	return value == "true" || value == "1"
}

// boundOf is the bound of an answer to a request that succeeds, by its path without the server's
// own.
func boundOf(method, path string) int64 {
	switch parts := strings.Split(strings.Trim(path, "/"), "/"); {
	case slices.Contains([]string{"version", "livez", "readyz", "healthz"}, parts[0]):
		return maxShortAnswer
	case parts[0] == "openapi", parts[0] == "api" && len(parts) <= 2, parts[0] == "apis" && len(parts) <= 3:
		return maxList
	}
	if (method == http.MethodGet || method == http.MethodDelete) && isCollection(path) {
		return maxList
	}
	return maxObject
}

// boundedBody is the body of an answer. It is read by one goroutine at a time.
type boundedBody struct {
	io.ReadCloser
	ctx     context.Context
	cancel  context.CancelFunc
	late    *TimeoutError
	what    string // is bounded
	bound   int64  // in bytes of text
	foreign string // the media type of what could not be bounded
	meter   meter
	hold    hold
	failure error
}

func (b *boundedBody) setBound(request *http.Request, response *http.Response, path string) {
	b.what, b.bound = "the answer", boundOf(request.Method, path)
	contentType := response.Header.Get("Content-Type")
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		b.bound = maxFailure
		if !isJSON(contentType) { // and so not decoded
			response.Header.Set("Content-Type", "text/plain")
		}
		return
	case isWatch(request):
		b.what, b.bound, b.meter.events = "an event", maxObject, true
	}
	if !isJSON(contentType) && !isText(contentType) {
		b.foreign = fmt.Sprintf("%q", contentType)
	}
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.failure != nil {
		return 0, b.failure
	}
	if b.meter.betweenEvents() && b.meter.largest <= maxKept {
		b.hold.release() // who reads on has decoded what there was
	}
	n, err := b.ReadCloser.Read(p)
	weight := b.meter.add(p[:n])
	switch {
	case n > 0 && b.foreign != "":
		b.failure = fmt.Errorf("%w: %s answers to %s with content of type %s, and was asked for JSON", ErrUnreachable, b.late.Server, b.late.Path, b.foreign)
	case weight > b.bound*perByte:
		b.failure = &AnswerTooLargeError{Server: b.late.Server, Path: b.late.Path, What: b.what, Bound: b.bound}
	default:
		b.failure = b.grow(weight)
	}
	if b.failure != nil {
		return 0, b.failure
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = outOfTime(b.ctx, err, "end of the answer")
		b.failure = err
	}
	return n, err
}

// grow waits for room. A watch, which has no limit of its own, waits as long as others.
func (b *boundedBody) grow(weight int64) error {
	if !b.hold.wants(weight) {
		return nil
	}
	ctx := b.ctx
	if b.meter.events {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, requestTimeout, b.late)
		defer cancel()
	}
	if err := b.hold.grow(ctx, weight); err != nil {
		return outOfTime(ctx, err, "room for a large answer beside those of others")
	}
	return nil
}

// Close gives the room back once the answer should be decoded, which who reads it does after.
func (b *boundedBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel()
	if release := b.hold.close(); release != nil {
		time.AfterFunc(b.meter.decodingTime(), release)
	}
	return err
}
