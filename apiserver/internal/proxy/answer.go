// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxStatusBytes bounds the body of an error.
const maxStatusBytes = 64 << 10

// contentTypes are those that are passed on, by their media type. None of them is run by a
// browser.
var contentTypes = map[string]string{
	runtime.ContentTypeJSON: runtime.ContentTypeJSON, runtime.ContentTypeYAML: runtime.ContentTypeYAML, "text/plain": "text/plain; charset=utf-8",
}

// contentTypeOf is what the client is told of the format of an answer; known is false for one
// that it is not to get.
func contentTypeOf(response *http.Response) (as string, known bool) {
	mediaType, _, err := mime.ParseMediaType(response.Header.Get(contentType))
	if err != nil {
		return "", false
	}
	as, known = contentTypes[mediaType]
	return as, known
}

// passOn streams a good answer to the client. One that turns out too long, or breaks off,
// after its beginning was sent ends the connection: the client must not take it for whole.
func (p *Proxy) passOn(logger logr.Logger, w http.ResponseWriter, response *http.Response, as string) {
	for _, name := range returnedHeaders {
		if value := response.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.Header().Set(contentType, as)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	written, err := io.Copy(w, io.LimitReader(response.Body, p.maxBytes+1))
	if err == nil && written > p.maxBytes {
		err = fmt.Errorf("the answer has more than %d bytes", p.maxBytes)
	}
	if err != nil {
		logger.Error(err, "An answer of the observer was not passed on as a whole", "bytes", written)
		panic(http.ErrAbortHandler)
	}
}

// noAnswer says why there is no answer. Addresses stay in the log.
func (p *Proxy) noAnswer(ctx context.Context, err error) error {
	var network net.Error
	var operation *net.OpError
	dialing := errors.As(err, &operation) && operation.Op == "dial"
	timedOut := errors.As(err, &network) && network.Timeout()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || timedOut && !dialing {
		return apierrors.NewTimeoutError(fmt.Sprintf("the observer did not answer within %s", p.timeout), 0)
	}
	return apierrors.NewServiceUnavailable("the observer cannot be reached; the log of convoy-apiserver says why")
}

// failure turns an answer that is none into the error for the client: the observer's own
// words where it speaks of the request, 502 where it speaks of how it was asked.
func failure(response *http.Response) error {
	status := readStatus(response)
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return badGateway(fmt.Sprintf("the observer answered with a redirect (%d); none is followed", response.StatusCode))
	case status == nil:
		return badGateway(fmt.Sprintf("the observer answered with code %d and no reason", response.StatusCode))
	case !speaksOfRequest(response.StatusCode):
		return badGateway("the observer failed: " + status.Message)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    int32(response.StatusCode),
		Reason:  status.Reason,
		Message: status.Message,
		Details: status.Details,
	}}
}

// speaksOfRequest tells the codes that are meant for the client. 401 and 403 are not among
// them: the client was authorized here, and what the observer refused is this server.
func speaksOfRequest(code int) bool {
	switch code {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusNotAcceptable, http.StatusConflict, http.StatusGone,
		http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// readStatus reads a metav1.Status; nil when the body is none.
func readStatus(response *http.Response) *metav1.Status {
	if mediaType, _, err := mime.ParseMediaType(response.Header.Get(contentType)); err != nil || mediaType != runtime.ContentTypeJSON {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxStatusBytes))
	if err != nil {
		return nil
	}
	status := &metav1.Status{}
	if err := json.Unmarshal(body, status); err != nil || status.Kind != "Status" || status.Status != metav1.StatusFailure {
		return nil
	}
	return status
}

func badGateway(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusBadGateway,
		Reason:  metav1.StatusReasonServiceUnavailable,
		Message: message,
	}}
}
