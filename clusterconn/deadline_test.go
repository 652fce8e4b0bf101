// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// stalled is a body that begins and does not go on.
type stalled struct {
	io.Reader
	ctx context.Context
}

func (s stalled) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); err == nil {
		return n, nil
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (stalled) Close() error { return nil }

func answerOf(status int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}

// connectTo gives a connection whose requests are answered by serve, but for the question whether
// the server answers.
func connectTo(t *testing.T, serve roundTripper) *Connection {
	g := NewWithT(t)
	transport := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == questionPath {
			return answerOf(http.StatusOK, io.NopCloser(strings.NewReader("ok"))), nil
		}
		return serve(r)
	})
	target, err := newTarget(&rest.Config{Host: "https://cluster.test", Transport: transport}, agentless(), newBuilding(), Options{Clock: clock.RealClock{}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(target.close)
	connection, err := target.connection("")
	g.Expect(err).NotTo(HaveOccurred())
	return connection
}

// A server that answers whether it lives, and nothing else, holds nobody for long.
func TestRequestsEnd(t *testing.T) {
	for _, test := range []struct {
		name  string
		serve roundTripper
		after time.Duration
		want  string
	}{
		{
			"no answer",
			func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			},
			requestTimeout, "target cluster is unreachable: GET /api/v1/namespaces/shop/configmaps/a to cluster.test: no answer within 1m30s",
		},
		{
			"half an answer",
			func(r *http.Request) (*http.Response, error) {
				return answerOf(http.StatusOK, stalled{strings.NewReader(`{"a":`), r.Context()}), nil
			},
			requestTimeout, "no end of the answer within 1m30s",
		},
		{
			"always busy",
			func(*http.Request) (*http.Response, error) {
				response := answerOf(http.StatusTooManyRequests, http.NoBody)
				response.Header.Set("Retry-After", "86400")
				return response, nil
			},
			10 * longestRetry, "",
		},
		{
			"slow to say that it is busy",
			func(*http.Request) (*http.Response, error) {
				time.Sleep(longestRetry + time.Second)
				response := answerOf(http.StatusTooManyRequests, http.NoBody)
				response.Header.Set("Retry-After", "1")
				return response, nil
			},
			longestRetry + time.Second, "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				begun := time.Now()
				err := Classify(getObject(t.Context(), connectTo(t, test.serve)))
				g.Expect(time.Since(begun)).To(Equal(test.after))
				if test.want == "" {
					g.Expect(err).To(HaveOccurred())
					return
				}
				g.Expect(err).To(MatchError(ErrUnreachable))
				g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			})
		})
	}
}

// What has no end by itself has none by the time either.
func TestWatchesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		connection := connectTo(t, func(r *http.Request) (*http.Response, error) {
			return answerOf(http.StatusOK, stalled{strings.NewReader(""), r.Context()}), nil
		})
		stream, err := connection.Metadata().Resource(configMaps).Watch(t.Context(), metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		time.Sleep(10 * requestTimeout)
		g.Expect(stream.ResultChan()).NotTo(Receive())
		g.Expect(stream.ResultChan()).NotTo(BeClosed())
		stream.Stop()
	})
}

func TestLongRunningRequests(t *testing.T) {
	for _, test := range []struct {
		url     string
		upgrade string
		want    bool
	}{
		{"https://c/api/v1/configmaps", "", false},
		{"https://c/api/v1/configmaps?watch=true", "", true},
		{"https://c/api/v1/configmaps?watch=false", "", false},
		{"https://c/api/v1/namespaces/a/pods/b/log?follow=true", "", true},
		{"https://c/api/v1/namespaces/a/pods/b/exec", "websocket", true},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.url, nil)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Upgrade", test.upgrade)
		NewWithT(t).Expect(isLongRunning(request)).To(Equal(test.want), test.url)
	}
}
