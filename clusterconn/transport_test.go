// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

func TestPromptTransportErrors(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, test := range []struct {
		name  string
		given error
		want  string
	}{
		{"end of file", io.EOF, "the server closed the connection without an answer"},
		{"reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, "the server closed the connection without an answer"},
		{"HTTP/2 connection lost", errors.New("http2: client connection lost"), "the server closed the connection without an answer"},
		{"refused", refused, refused.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			transport := &promptTransport{delegate: roundTripper(func(*http.Request) (*http.Response, error) { return nil, test.given })}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster.test", nil)
			g.Expect(err).NotTo(HaveOccurred())

			_, err = transport.RoundTrip(request)

			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			asClient := &url.Error{Op: "Get", URL: "https://cluster.test", Err: err}
			g.Expect(utilnet.IsProbableEOF(asClient) || utilnet.IsConnectionReset(asClient) || utilnet.IsHTTP2ConnectionLost(asClient)).To(BeFalse(),
				"client-go must not take it for something to wait for")
		})
	}
}

func TestPromptTransportAnswers(t *testing.T) {
	for _, test := range []struct {
		name           string
		status         int
		header         http.Header
		wantErr        string
		wantRetryAfter string
	}{
		{"well", 200, http.Header{}, "", ""},
		{"not modified", 304, http.Header{}, "", ""},
		{"redirect", 302, http.Header{"Location": {"https://login.test/?token=" + canary}}, "the server answers with a redirect", ""},
		{"busy", 429, http.Header{"Retry-After": {"1"}}, "", "1"},
		{"busy for long", 429, http.Header{"Retry-After": {"86400"}}, "", "10"},
		{"busy until a date, which client-go does not read", 429, http.Header{"Retry-After": {"Fri, 31 Dec 2027 23:59:59 GMT"}}, "", "Fri, 31 Dec 2027 23:59:59 GMT"},
		{"down", 503, http.Header{"Retry-After": {"1"}}, "", ""},
		{"created, with its location", 201, http.Header{"Location": {"/api/v1/namespaces/n"}}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			body := &closeRecorder{Reader: strings.NewReader("")}
			transport := &promptTransport{delegate: roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: test.status, Header: test.header, Body: body}, nil
			})}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://cluster.test", nil)
			g.Expect(err).NotTo(HaveOccurred())

			response, err := transport.RoundTrip(request)

			if test.wantErr != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.wantErr)))
				g.Expect(err.Error()).NotTo(ContainSubstring(canary))
				g.Expect(body.closed).To(BeTrue())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(response.Header.Get("Retry-After")).To(Equal(test.wantRetryAfter))
			g.Expect(body.closed).To(BeFalse())
		})
	}
}

func TestSilentConnectionsAreChecked(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connection, _ := connect(t, f)
	base := baseOf(connection.breaker)
	g.Expect(base.HTTP2).To(HaveField("SendPingTimeout", pingAfter))
	g.Expect(base.HTTP2).To(HaveField("PingTimeout", pingTimeout))

	transport, err := newTransport(&rest.Config{Host: f.URL, Transport: http.DefaultTransport}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(baseOf(transport)).To(BeIdenticalTo(http.DefaultTransport))
	g.Expect(http.DefaultTransport.(*http.Transport).HTTP2).To(BeNil(), "what is others' is left alone")
}

// What Wrap gives sees requests as they are sent, and what opens connections is found behind it.
func TestWrappedTransport(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	var seen []*http.Request
	connection, _ := connect(t, f, func(o *Options) {
		o.Wrap = func(next http.RoundTripper) http.RoundTripper {
			return wrapped{next, func(r *http.Request) error {
				seen = append(seen, r)
				if r.Method == http.MethodGet {
					return nil
				}
				return fmt.Errorf("refused: %w", context.Canceled)
			}}
		}
	})
	_, err := connection.Probe(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(seen).NotTo(BeEmpty())
	g.Expect(seen).To(HaveEach(HaveField("Header", HaveKey("Authorization"))), "with its credentials")
	g.Expect(baseOf(connection.breaker).HTTP2).To(HaveField("SendPingTimeout", pingAfter))

	err = Classify(connection.REST().Delete().AbsPath("/api/v1/namespaces/a").Do(t.Context()).Error())
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(err).NotTo(MatchError(ErrUnreachable), "it is not the cluster's doing")
}

// wrapped asks before it passes a request on.
type wrapped struct {
	http.RoundTripper
	ask func(*http.Request) error
}

func (w wrapped) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := w.ask(request); err != nil {
		return nil, err
	}
	return w.RoundTripper.RoundTrip(request)
}

func (w wrapped) WrappedRoundTripper() http.RoundTripper { return w.RoundTripper }
