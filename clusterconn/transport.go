// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

const (
	// dialTimeout bounds how long a connection takes to open. A server that drops packets
	// must fail in seconds, not in the half minute that is client-go's default.
	dialTimeout = 5 * time.Second
	// pingAfter is how long an HTTP/2 connection is silent before it is checked by a ping,
	// and pingTimeout how long that takes to be answered. On an open watch nothing else tells
	// a quiet cluster from one whose packets are lost.
	pingAfter   = 10 * time.Second
	pingTimeout = 5 * time.Second
	// longestRetry is how long a server that is busy may have a request wait before it is sent
	// again, which client-go does ten times.
	longestRetry = 10 * time.Second
)

// keepAlive is the same for connections that have to do without HTTP/2.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: pingAfter, Interval: pingTimeout, Count: 3}

// newTransport makes the transport of a cluster, with the credentials of config in it. wrap
// wraps what opens connections; it may be nil.
func newTransport(config *rest.Config, wrap func(http.RoundTripper) http.RoundTripper) (http.RoundTripper, error) {
	config = rest.CopyConfig(config)
	if wrap != nil {
		config.Wrap(wrap)
	}
	own := config.Dial == nil && config.Transport == nil
	if own {
		config.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAliveConfig: keepAlive}).DialContext
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	// With a dialer of its own, it is nobody else's.
	if base := baseOf(transport); own && base != nil {
		base.MaxResponseHeaderBytes = maxHeaderBytes
		base.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	}
	return &promptTransport{delegate: transport}, nil
}

// baseOf gives what opens connections under the layers of a transport.
func baseOf(transport http.RoundTripper) *http.Transport {
	for {
		switch layer := transport.(type) {
		case *http.Transport:
			return layer
		case utilnet.RoundTripperWrapper:
			transport = layer.WrappedRoundTripper()
		default:
			return nil
		}
	}
}

// promptTransport turns answers that a client would follow or wait for into errors.
//
//   - A redirect: net/http would follow it, and the transport below adds credentials to
//     whatever passes it, so that they would go to a host of the server's choice. The
//     error does not quote the location, which may hold a token. API servers do not
//     redirect.
//   - A connection that breaks, and a 5xx with Retry-After: client-go would try again ten
//     times and sleep in between, while a worker is held by a server that is down. A 429
//     of a server that is merely busy is left to client-go, with a Retry-After that is not
//     too long; without one when the answer itself was slow, as a request that has waited
//     for its turn once need not wait again.
type promptTransport struct {
	delegate http.RoundTripper
}

func (t *promptTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	begun := time.Now()
	response, err := t.delegate.RoundTrip(request)
	switch {
	case utilnet.IsProbableEOF(err), utilnet.IsConnectionReset(err), utilnet.IsHTTP2ConnectionLost(err):
		// The cause is left out: client-go knows it by its text and type.
		return nil, errors.New("the server closed the connection without an answer")
	case err != nil:
		return nil, err
	case response.StatusCode/100 == 3 && response.Header.Get("Location") != "":
		_ = response.Body.Close()
		return nil, fmt.Errorf("the server answers with a redirect (%s), as an API server does not: is its URL right?", response.Status)
	case response.StatusCode >= http.StatusInternalServerError,
		response.StatusCode == http.StatusTooManyRequests && time.Since(begun) > longestRetry:
		response.Header.Del("Retry-After")
	case response.StatusCode == http.StatusTooManyRequests:
		shortenRetry(response.Header)
	}
	return response, nil
}

// shortenRetry cuts the time after which a request is to be sent again.
func shortenRetry(header http.Header) {
	longest := int(longestRetry.Seconds())
	if seconds, err := strconv.Atoi(header.Get("Retry-After")); err == nil && seconds > longest {
		header.Set("Retry-After", strconv.Itoa(longest))
	}
}

func (t *promptTransport) WrappedRoundTripper() http.RoundTripper { return t.delegate }
