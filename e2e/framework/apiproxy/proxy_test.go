// SPDX-License-Identifier: Apache-2.0

package apiproxy

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/certs"
	"kumodo.io/convoy/e2e/framework/httpserver"
)

// server answers 201 with the method and the body, and tells of each request.
func server(t *testing.T, ca *certs.CA) (url string, heard chan string) {
	pair, err := ca.Server("server", "127.0.0.1")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	heard = make(chan string, 10)
	s, err := httpserver.Start(httpserver.Options{Certificate: &pair, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		heard <- r.Method + " " + r.URL.Path
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, r.Method+" "+string(body))
	})})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	return s.URL(), heard
}

// start gives the URL of a proxy with a gate, and a client that trusts it.
func start(t *testing.T, gate Gate) (url string, client *http.Client, heard chan string) {
	g := NewWithT(t)
	ca, err := certs.NewCA(t.TempDir(), "ca", "test-ca")
	g.Expect(err).NotTo(HaveOccurred())
	address, heard := server(t, ca)
	pair, err := ca.Server("proxy", "127.0.0.1")
	g.Expect(err).NotTo(HaveOccurred())
	p, err := Start(Options{Server: address, Roots: ca.Pool(), Certificate: pair, Gate: gate})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(p.Close()).To(Succeed()) })
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return p.URL(), &http.Client{Transport: transport}, heard
}

func send(t *testing.T, client *http.Client, method, url string) (status int, body string, err error) {
	g := NewWithT(t)
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("content"))
	g.Expect(err).NotTo(HaveOccurred())
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func TestOnlyWritesAreAskedAbout(t *testing.T) {
	for _, test := range []struct {
		name, method, path string
		want               bool
	}{
		{name: "a read", method: http.MethodGet, path: "/api/v1/pods"},
		{name: "a creation", method: http.MethodPost, path: "/api/v1/pods", want: true},
		{name: "an update", method: http.MethodPut, path: "/api/v1/pods/a", want: true},
		{name: "a patch", method: http.MethodPatch, path: "/api/v1/pods/a?fieldManager=m", want: true},
		{name: "a deletion", method: http.MethodDelete, path: "/api/v1/pods/a", want: true},
		{name: "a dry run", method: http.MethodPatch, path: "/api/v1/pods/a?dryRun=All"},
		{name: "a review", method: http.MethodPost, path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var asked []Write
			url, client, heard := start(t, func(write Write, pass func() int) bool {
				asked = append(asked, write)
				return pass() == http.StatusCreated
			})
			status, body, err := send(t, client, test.method, url+test.path)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(status).To(Equal(http.StatusCreated))
			g.Expect(body).To(Equal(test.method + " content"))
			g.Expect(heard).To(HaveLen(1))
			if !test.want {
				g.Expect(asked).To(BeEmpty())
				return
			}
			path, _, _ := strings.Cut(test.path, "?")
			g.Expect(asked).To(Equal([]Write{{Method: test.method, Path: path, Body: []byte("content")}}))
		})
	}
}

func TestWhatIsNotPassedOnIsNotHeard(t *testing.T) {
	g := NewWithT(t)
	url, client, heard := start(t, func(Write, func() int) bool { return false })
	_, _, err := send(t, client, http.MethodPost, url+"/api/v1/pods")
	g.Expect(err).To(HaveOccurred())
	g.Expect(heard).To(BeEmpty())
}

func TestAnAnswerCanGetLost(t *testing.T) {
	g := NewWithT(t)
	url, client, heard := start(t, func(_ Write, pass func() int) bool {
		pass()
		return false
	})
	_, _, err := send(t, client, http.MethodDelete, url+"/api/v1/pods/a")
	g.Expect(err).To(HaveOccurred())
	g.Expect(heard).To(Receive(Equal("DELETE /api/v1/pods/a")))
}

func TestAWriteIsDoneThoughItsClientIsGone(t *testing.T) {
	g := NewWithT(t)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	url, client, heard := start(t, func(_ Write, pass func() int) bool {
		leave()
		<-left
		pass()
		return true
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/pods", nil)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = client.Do(request)
	g.Expect(err).To(MatchError(context.Canceled))
	close(left)
	g.Eventually(heard).WithTimeout(10 * time.Second).Should(Receive(Equal("POST /api/v1/pods")))
}
