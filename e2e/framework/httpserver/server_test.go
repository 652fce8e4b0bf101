// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/certs"
)

func serve(t *testing.T, o Options) *Server {
	t.Helper()
	server, err := Start(o)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	return server
}

func status(t *testing.T, client *http.Client, url, user, password string) int {
	t.Helper()
	g := NewWithT(t)
	request, err := http.NewRequest(http.MethodGet, url, nil)
	g.Expect(err).NotTo(HaveOccurred())
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	response, err := client.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return response.StatusCode
}

var ok = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

func TestFolderAuth(t *testing.T) {
	root := t.TempDir()
	private := filepath.Join(root, "private")
	NewWithT(t).Expect(os.MkdirAll(filepath.Join(private, "inner"), 0o755)).To(Succeed())
	NewWithT(t).Expect(Protect(private, "alice", "pass:word")).To(Succeed())
	recorder := &Recorder{}
	server := serve(t, Options{Handler: recorder.Handler(FolderAuth(root, ok))})

	for _, test := range []struct {
		name, path, user, password string
		want                       int
	}{
		{name: "elsewhere nothing is asked", path: "/public/index", want: 200},
		{name: "without credentials", path: "/private/index", want: 401},
		{name: "below", path: "/private/inner/index", want: 401},
		{name: "around the corner", path: "/public/../private/index", want: 401},
		{name: "wrong password", path: "/private/index", user: "alice", password: "word", want: 401},
		{name: "right", path: "/private/index", user: "alice", password: "pass:word", want: 200},
		{name: "right, below", path: "/private/inner/index", user: "alice", password: "pass:word", want: 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			recorder.Reset()
			g.Expect(status(t, http.DefaultClient, server.URL()+test.path, test.user, test.password)).To(Equal(test.want))
			g.Expect(recorder.Count(func(r Request) bool { return r.Status == test.want })).To(Equal(1))
			g.Expect(recorder.Count(func(r Request) bool { return r.Status != test.want })).To(Equal(0))
		})
	}

	t.Run("taken off again", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(Unprotect(private)).To(Succeed())
		g.Expect(Unprotect(private)).To(Succeed())
		g.Expect(status(t, http.DefaultClient, server.URL()+"/private/index", "", "")).To(Equal(200))
	})
}

func TestOnlyLoopback(t *testing.T) {
	for _, test := range []struct {
		name, given string
		want        bool
	}{
		{name: "default", given: "", want: true},
		{name: "loopback", given: "127.0.0.1:0", want: true},
		{name: "everywhere", given: "0.0.0.0:0"},
		{name: "no host", given: ":0"},
		{name: "a name", given: "localhost:0"},
		{name: "no port", given: "127.0.0.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, err := Start(Options{Address: test.given, Handler: ok})
			NewWithT(t).Expect(err == nil).To(Equal(test.want))
			if server != nil {
				NewWithT(t).Expect(server.Close(t.Context())).To(Succeed())
			}
		})
	}
}

func TestTLS(t *testing.T) {
	g := NewWithT(t)
	ca, err := certs.NewCA(t.TempDir(), "ca", "test-ca")
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := ca.Server("serving", "127.0.0.1")
	g.Expect(err).NotTo(HaveOccurred())
	server := serve(t, Options{Handler: ok, Certificate: &pair})
	g.Expect(server.URL()).To(HavePrefix("https://127.0.0.1:"))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}}
	defer client.CloseIdleConnections()
	g.Expect(status(t, client, server.URL(), "", "")).To(Equal(200))
}
