// SPDX-License-Identifier: Apache-2.0

// Package proxy sends the five subresources of Releases that convoy-observer answers on to
// it. The caller has authorized the request and knows that the Release exists.
//
// Nothing of the client's request reaches the observer but the query, the formats that it
// accepts, the trace context and, over a connection on which the observer knows this server by
// its client certificate, the client's identity. Nothing of the observer's answer reaches the
// client but a body in one of a few formats and harmless headers, and errors come as
// metav1.Status.
package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
)

const (
	// DefaultTimeout stays below the 60 seconds after which a kube-apiserver gives up on a
	// request that it proxies, so that the client hears from us what happened.
	DefaultTimeout = 50 * time.Second
	// DefaultMaxBytes bounds an answer.
	DefaultMaxBytes = 64 << 20

	contentType = "Content-Type"
)

// forwardedHeaders of the client's request, besides which nothing is sent on.
var forwardedHeaders = []string{"Accept", "Traceparent", "Tracestate"}

// returnedHeaders of the observer's answer, besides which nothing is returned.
var returnedHeaders = []string{"Cache-Control", "Etag", "Retry-After"}

// Config is where the observer is and how it is reached.
type Config struct {
	// URL of the observer, http or https, without credentials, query and fragment. Empty:
	// every request is answered 503.
	URL string
	// CAFile holds the certificates that the observer's is checked against; the system's
	// when empty. ClientCertFile and ClientKeyFile show this server to the observer; both or
	// neither are set. All are read anew for each connection, and may be rotated.
	CAFile, ClientCertFile, ClientKeyFile string
	// TLS, when set, gives the same, client certificate included, for each connection, and
	// the files are not used.
	TLS func() (*tls.Config, error)
	// Timeout of a request as a whole; DefaultTimeout when 0.
	Timeout time.Duration
	// MaxBytes of an answer; DefaultMaxBytes when 0.
	MaxBytes int64
}

// Proxy sends requests to the observer. It is safe for concurrent use.
type Proxy struct {
	base       *url.URL // nil when there is no observer
	client     *http.Client
	identities bool // whether the observer is told who asks
	timeout    time.Duration
	maxBytes   int64
}

// New gives a Proxy. It connects to nothing yet.
func New(config Config) (*Proxy, error) {
	p := &Proxy{timeout: config.Timeout, maxBytes: config.MaxBytes}
	if p.timeout == 0 {
		p.timeout = DefaultTimeout
	}
	if p.maxBytes == 0 {
		p.maxBytes = DefaultMaxBytes
	}
	if config.URL == "" {
		return p, nil
	}
	base, err := ParseURL(config.URL)
	if err != nil {
		return nil, err
	}
	p.base = base
	p.identities = base.Scheme == "https" && (config.TLS != nil || config.ClientCertFile != "")
	p.client = &http.Client{
		Transport: newTransport(config, p.timeout),
		// A redirect would lead to where the operator did not point.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p, nil
}

// ParseURL checks the URL of an observer.
func ParseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL") // the error itself repeats it, with what may be a password
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		return nil, errors.New("must be http://host or https://host, with or without a port and a path")
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return nil, errors.New("may have no credentials, query or fragment")
	}
	return u, nil
}

// Request names what is asked for.
type Request struct {
	Subresource, Namespace, Name string
}

// Handler gives the handler for one request, or the error with which it is to be refused.
func (p *Proxy) Handler(r Request, responder rest.Responder) (http.Handler, error) {
	if p.base == nil {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf(
			"%s of a Release is answered by convoy-observer, and convoy-apiserver was started with an empty --observer-url", r.Subresource))
	}
	// Both were found in the storage and are names; a path of other parts would be cleaned
	// into that of another Release.
	for _, segment := range []string{r.Namespace, r.Name} {
		if segment == "" || len(content.IsPathSegmentName(segment)) > 0 {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("%q is not the name of a Release or namespace", segment))
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		p.serve(w, req, r, responder)
	}), nil
}

func (p *Proxy) serve(w http.ResponseWriter, req *http.Request, r Request, responder rest.Responder) {
	ctx, cancel := context.WithTimeout(req.Context(), p.timeout)
	defer cancel()
	logger := klog.FromContext(ctx).WithValues("subresource", r.Subresource, "release", klog.KRef(r.Namespace, r.Name))
	out, err := p.outgoing(ctx, req, r)
	if err != nil {
		responder.Error(apierrors.NewInternalError(err))
		return
	}
	response, err := p.client.Do(out)
	if err != nil {
		if req.Context().Err() == nil {
			logger.Error(err, "The observer gave no answer")
		}
		responder.Error(p.noAnswer(ctx, err))
		return
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		err := failure(response)
		logger.V(2).Info("The observer answered with an error", "code", response.StatusCode, "err", err)
		responder.Error(err)
		return
	}
	as, known := contentTypeOf(response)
	if !known {
		responder.Error(badGateway("the observer answered in a format that is not passed on"))
		return
	}
	if response.ContentLength > p.maxBytes {
		responder.Error(badGateway(fmt.Sprintf("the observer's answer has %d bytes; at most %d are passed on", response.ContentLength, p.maxBytes)))
		return
	}
	p.passOn(logger, w, response, as)
}

// ofAnyRequest are parameters of any request: clients with a time limit send one. They are
// for this server, and the observer does not know them.
var ofAnyRequest = []string{"timeout", "pretty"}

// query is what the observer is asked with.
func query(u *url.URL) string {
	values := u.Query()
	before := len(values)
	for _, name := range ofAnyRequest {
		delete(values, name)
	}
	if len(values) == before {
		return u.RawQuery // as the client sent it, in its order
	}
	return values.Encode()
}

// outgoing builds a request of our own; copying the client's would let it smuggle headers.
func (p *Proxy) outgoing(ctx context.Context, req *http.Request, r Request) (*http.Request, error) {
	target := p.base.JoinPath(r.Subresource, r.Namespace, r.Name)
	target.RawQuery = query(req.URL)
	out, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("building the request to the observer: %w", err)
	}
	out.Header.Set("Accept", runtime.ContentTypeJSON)
	out.Header.Set("User-Agent", "convoy-apiserver")
	for _, name := range forwardedHeaders {
		if values := req.Header.Values(name); len(values) > 0 {
			out.Header[name] = values
		}
	}
	if p.identities {
		if user, ok := genericapirequest.UserFrom(ctx); ok {
			transport.SetAuthProxyHeaders(out, user.GetName(), user.GetUID(), user.GetGroups(), user.GetExtra())
		}
	}
	return out, nil
}
