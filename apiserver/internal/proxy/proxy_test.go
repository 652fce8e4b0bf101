// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

var web = Request{Subresource: "preview", Namespace: "team", Name: "web"}

// answer collects what a handler answers through its responder.
type answer struct{ err error }

func (*answer) Object(int, runtime.Object) {}
func (a *answer) Error(err error)          { a.err = err }

// status is the error as the client sees it.
func (a *answer) status(g Gomega) metav1.Status {
	g.Expect(a.err).To(HaveOccurred())
	var known apierrors.APIStatus
	g.Expect(a.err).To(BeAssignableToTypeOf(&apierrors.StatusError{}))
	known = a.err.(apierrors.APIStatus)
	return known.Status()
}

// newProxy gives a proxy to a handler in the place of the observer.
func newProxy(t *testing.T, observer http.HandlerFunc, change func(*Config)) *Proxy {
	t.Helper()
	server := httptest.NewServer(observer)
	t.Cleanup(server.Close)
	config := Config{URL: server.URL}
	if change != nil {
		change(&config)
	}
	p, err := New(config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(p.client.CloseIdleConnections)
	return p
}

// ask sends one request through a proxy.
func ask(t *testing.T, p *Proxy, request *http.Request) (*httptest.ResponseRecorder, *answer) {
	t.Helper()
	recorder, got := httptest.NewRecorder(), &answer{}
	handler, err := p.Handler(web, got)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	handler.ServeHTTP(recorder, request)
	return recorder, got
}

func writeJSON(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}

func TestGoodAnswer(t *testing.T) {
	g := NewWithT(t)
	var asked *http.Request
	p := newProxy(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r
		w.Header().Set("Etag", `"1"`)
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Location", "http://elsewhere")
		w.Header().Set("X-Internal", "10.0.0.1")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"ReleasePreview"}`)
	}, nil)
	request := httptest.NewRequest(http.MethodGet, "/apis/x?revision=main%40sha1%3A00&b=2", nil)
	for name, value := range map[string]string{
		"Authorization": "Bearer hunter2", "Cookie": "a=b", "X-Remote-User": "root", "X-Remote-Group": "system:masters", "X-Forwarded-For": "1.2.3.4",
		"Connection": "X-Smuggled", "X-Smuggled": "yes", "Upgrade": "websocket", "Te": "trailers", "Host": "elsewhere", "Traceparent": "00-0123",
	} {
		request.Header.Set(name, value)
	}
	// The proxy is told who asks only over mutually authenticated TLS.
	ctx := genericapirequest.WithUser(request.Context(), &user.DefaultInfo{Name: "alice"})
	recorder, got := ask(t, p, request.WithContext(ctx))
	g.Expect(got.err).NotTo(HaveOccurred())
	g.Expect(recorder.Code).To(Equal(http.StatusOK))
	g.Expect(recorder.Body.String()).To(Equal(`{"kind":"ReleasePreview"}`))
	g.Expect(recorder.Result().Header).To(Equal(http.Header{
		"Content-Type": {"application/json"}, "Etag": {`"1"`}, "X-Content-Type-Options": {"nosniff"},
	}))
	g.Expect(asked.Method).To(Equal(http.MethodGet))
	g.Expect(asked.RequestURI).To(Equal("/preview/team/web?revision=main%40sha1%3A00&b=2"))
	g.Expect(asked.Header).To(Equal(http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "Traceparent": {"00-0123"}, "User-Agent": {"convoy-apiserver"},
	}))
}

func TestFormats(t *testing.T) {
	for _, test := range []struct {
		name       string
		accept     []string
		wantAccept []string
		answered   string
		want       string // "": it is not passed on
	}{
		{"nothing asked for", nil, []string{"application/json"}, "application/json; charset=utf-8", "application/json"},
		{"YAML", []string{"application/yaml"}, []string{"application/yaml"}, "application/yaml", "application/yaml"},
		{"text", []string{"text/plain, */*;q=0.1"}, []string{"text/plain, */*;q=0.1"}, "text/plain; charset=utf-8", "text/plain; charset=utf-8"},
		{"two headers", []string{"text/plain", "application/yaml"}, []string{"text/plain", "application/yaml"}, "Text/Plain", "text/plain; charset=utf-8"},
		{"what a browser runs", []string{"text/html"}, []string{"text/html"}, "text/html", ""},
		{"what may be anything", nil, []string{"application/json"}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			var asked *http.Request
			p := newProxy(t, func(w http.ResponseWriter, r *http.Request) {
				asked = r
				w.Header()["Content-Type"] = []string{test.answered}
				_, _ = io.WriteString(w, "<script>")
			}, nil)
			request := httptest.NewRequest(http.MethodGet, "/?output=text", nil)
			request.Header["Accept"] = test.accept
			recorder, got := ask(t, p, request)
			g.Expect(asked.Header["Accept"]).To(Equal(test.wantAccept))
			g.Expect(asked.URL.RawQuery).To(Equal("output=text"))
			if test.want == "" {
				g.Expect(got.status(g).Code).To(BeEquivalentTo(http.StatusBadGateway))
				g.Expect(recorder.Body.Len()).To(BeZero())
				return
			}
			g.Expect(got.err).NotTo(HaveOccurred())
			g.Expect(recorder.Header()["Content-Type"]).To(Equal([]string{test.want}))
			g.Expect(recorder.Header().Get("X-Content-Type-Options")).To(Equal("nosniff"))
			g.Expect(recorder.Body.String()).To(Equal("<script>"))
		})
	}
}

func TestBasePathIsKept(t *testing.T) {
	g := NewWithT(t)
	var uri string
	p := newProxy(t, func(w http.ResponseWriter, r *http.Request) { uri = r.RequestURI; writeJSON(w, 200, "{}") },
		func(c *Config) { c.URL += "/base/" })
	_, got := ask(t, p, httptest.NewRequest(http.MethodGet, "/", nil))
	g.Expect(got.err).NotTo(HaveOccurred())
	g.Expect(uri).To(Equal("/base/preview/team/web"))
}

// Clients with a time limit, kubectl with --request-timeout among them, send it along.
func TestParametersOfAnyRequestAreNotForTheObserver(t *testing.T) {
	for sent, arrives := range map[string]string{
		"?timeout=20s": "",
		"?pretty=true&revision=a%2Fb&timeout=1m0s": "?revision=a%2Fb",
		"?b=2&a=1":  "?b=2&a=1",
		"?nonsense": "?nonsense",
	} {
		g := NewWithT(t)
		var uri string
		p := newProxy(t, func(w http.ResponseWriter, r *http.Request) { uri = r.RequestURI; writeJSON(w, 200, "{}") }, nil)
		_, got := ask(t, p, httptest.NewRequest(http.MethodGet, "/"+sent, nil))
		g.Expect(got.err).NotTo(HaveOccurred())
		g.Expect(uri).To(Equal("/preview/team/web" + arrives))
	}
}

func TestPathsCannotEscape(t *testing.T) {
	p := newProxy(t, func(http.ResponseWriter, *http.Request) { t.Error("the observer was asked") }, nil)
	for _, name := range []string{"", ".", "..", "a/b", "../other", "a%2fb", "%2e%2e"} {
		for _, r := range []Request{{"preview", "team", name}, {"preview", name, "web"}} {
			t.Run(fmt.Sprintf("%s in %s", r.Name, r.Namespace), func(t *testing.T) {
				g := NewWithT(t)
				_, err := p.Handler(r, &answer{})
				g.Expect(apierrors.IsBadRequest(err)).To(BeTrue(), "%v", err)
			})
		}
	}
}

func TestNoObserver(t *testing.T) {
	g := NewWithT(t)
	p, err := New(Config{})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = p.Handler(web, &answer{})
	g.Expect(apierrors.IsServiceUnavailable(err)).To(BeTrue())
	g.Expect(err).To(MatchError(ContainSubstring("--observer-url")))
}

func TestFailures(t *testing.T) {
	words := func(code int, reason metav1.StatusReason) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"why","reason":%q,"code":%d}`, reason, code)
	}
	for _, test := range []struct {
		name       string
		code       int
		body       string
		wantCode   int32
		wantReason metav1.StatusReason
		wantIn     string // the message
	}{
		{"bad query", 400, words(400, "BadRequest"), 400, "BadRequest", "why"},
		{"unknown", 404, words(404, "NotFound"), 404, "NotFound", "why"},
		{"nothing that is accepted", 406, words(406, "NotAcceptable"), 406, "NotAcceptable", "why"},
		{"target unreachable", 503, words(503, "ServiceUnavailable"), 503, "ServiceUnavailable", "why"},
		{"slow target", 504, words(504, "Timeout"), 504, "Timeout", "why"},
		{"a code that differs from the answer's", 400, words(200, "BadRequest"), 400, "BadRequest", "why"},
		{"the observer refuses us, not the client", 401, words(401, "Unauthorized"), 502, "ServiceUnavailable", "the observer failed: why"},
		{"nor is the client forbidden", 403, words(403, "Forbidden"), 502, "ServiceUnavailable", "the observer failed: why"},
		{"internal", 500, words(500, "InternalError"), 502, "ServiceUnavailable", "the observer failed: why"},
		{"no words", 404, "404 page not found", 502, "ServiceUnavailable", "code 404"},
		{"other words", 400, `{"error":"hunter2"}`, 502, "ServiceUnavailable", "code 400"},
		{"a success that is none", 400, `{"kind":"Status","status":"Success","message":"hunter2"}`, 502, "ServiceUnavailable", "code 400"},
		{"too many words", 400, `{"kind":"Status","status":"Failure","message":"` + strings.Repeat("a", maxStatusBytes) + `"}`, 502, "ServiceUnavailable", "code 400"},
		{"nothing", 204, "", 502, "ServiceUnavailable", "code 204"},
		{"redirect", 302, "", 502, "ServiceUnavailable", "redirect"},
		{"permanent redirect", 308, words(308, "Moved"), 502, "ServiceUnavailable", "redirect"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			requests := 0
			p := newProxy(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				w.Header().Set("Location", "/preview/other/web")
				if test.code == http.StatusNoContent {
					w.WriteHeader(test.code)
					return
				}
				writeJSON(w, test.code, test.body)
			}, nil)
			recorder, got := ask(t, p, httptest.NewRequest(http.MethodGet, "/", nil))
			status := got.status(g)
			g.Expect(status.Status).To(Equal(metav1.StatusFailure))
			g.Expect(status.Code).To(Equal(test.wantCode))
			g.Expect(status.Reason).To(Equal(test.wantReason))
			g.Expect(status.Message).To(ContainSubstring(test.wantIn))
			g.Expect(status.Message).NotTo(ContainSubstring("hunter2"))
			g.Expect(requests).To(Equal(1))
			g.Expect(recorder.Header()).NotTo(HaveKey("Location"))
			g.Expect(recorder.Body.Len()).To(BeZero())
		})
	}
}

func TestUnreachableObserver(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	address := listener.Addr().String()
	g.Expect(listener.Close()).To(Succeed())
	p, err := New(Config{URL: "http://" + address})
	g.Expect(err).NotTo(HaveOccurred())
	_, got := ask(t, p, httptest.NewRequest(http.MethodGet, "/", nil))
	status := got.status(g)
	g.Expect(status.Code).To(Equal(int32(http.StatusServiceUnavailable)))
	g.Expect(status.Message).NotTo(ContainSubstring(address), "addresses stay inside")
}

func TestSlowObserver(t *testing.T) {
	g := NewWithT(t)
	done := make(chan struct{})
	p := newProxy(t, func(_ http.ResponseWriter, r *http.Request) { <-done }, func(c *Config) { c.Timeout = time.Millisecond })
	defer close(done)
	_, got := ask(t, p, httptest.NewRequest(http.MethodGet, "/", nil))
	g.Expect(got.status(g).Code).To(Equal(int32(http.StatusGatewayTimeout)))
}

func TestCancellationGoesThrough(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	p := newProxy(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel() // the client goes away once it is being served
		<-r.Context().Done()
		close(ended)
	}, nil)
	_, got := ask(t, p, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
	g.Expect(got.err).To(HaveOccurred())
	g.Eventually(ended).Should(BeClosed())
}

func TestLongAnswers(t *testing.T) {
	limit := func(c *Config) { c.MaxBytes = 10 }
	t.Run("at the limit", func(t *testing.T) {
		g := NewWithT(t)
		p := newProxy(t, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, `"23456789"`) }, limit)
		recorder, got := ask(t, p, httptest.NewRequest(http.MethodGet, "/", nil))
		g.Expect(got.err).NotTo(HaveOccurred())
		g.Expect(recorder.Body.String()).To(Equal(`"23456789"`))
	})
	t.Run("announced", func(t *testing.T) {
		g := NewWithT(t)
		p := newProxy(t, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, `"234567890"`) }, limit)
		_, got := ask(t, p, httptest.NewRequest(http.MethodGet, "/", nil))
		g.Expect(got.status(g).Code).To(Equal(int32(http.StatusBadGateway)))
	})
	for name, observer := range map[string]http.HandlerFunc{
		"not announced": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, `"234567890"`)
		},
		"broken off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "9")
			_, _ = io.WriteString(w, `"23`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := newProxy(t, observer, limit)
			// Through a real connection, for the client must see that the answer is not whole.
			front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler, err := p.Handler(web, &answer{})
				g.Expect(err).NotTo(HaveOccurred())
				handler.ServeHTTP(w, r)
			}))
			front.Start()
			defer front.Close()
			response, err := http.Get(front.URL)
			if err == nil {
				_, err = io.ReadAll(response.Body)
				g.Expect(response.Body.Close()).To(Succeed())
			}
			g.Expect(err).To(HaveOccurred())
		})
	}
}

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]bool{
		"http://convoy-observer.convoy-system.svc:8080": true,
		"https://127.0.0.1:8443/base":                   true,
		"ftp://a":                                       false,
		"//a":                                           false,
		"http://":                                       false,
		"http:a":                                        false,
		"http://user@a":                                 false,
		"http://user:hunter2@a:x":                       false,
		"http://a?b":                                    false,
		"http://a#b":                                    false,
		"unix:///run/observer":                          false,
	} {
		t.Run(raw, func(t *testing.T) {
			g := NewWithT(t)
			_, err := ParseURL(raw)
			g.Expect(err == nil).To(Equal(want), "%v", err)
			if err != nil {
				g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
			}
		})
	}
}

func TestEnvironmentProxyIsNotUsed(t *testing.T) {
	g := NewWithT(t)
	p, err := New(Config{URL: "http://observer"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.client.Transport.(*http.Transport).Proxy).To(BeNil())
	g.Expect(p.base).To(Equal(&url.URL{Scheme: "http", Host: "observer"}))
}
