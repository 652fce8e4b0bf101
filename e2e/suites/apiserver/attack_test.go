// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// attack is a request as it stands on the wire. In all texts, A and B stand for the namespaces
// of the attacker and of others, and OBSERVER for the observer's address.
type attack struct {
	name   string
	method string // GET when empty
	target string // what stands in the request line; the preview of the attacker's own when empty
	query  string
	header []string
	body   string // sent as it is, after the header
}

const own = "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/A/releases/app/preview"

// releases of the attacker's namespace, in its path.
const collection = "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/A/releases"

func paths() []attack {
	var all []attack
	for _, target := range []string{
		"/apis/core.convoy.kumodo.io/v1alpha1/namespaces/B/releases/app/preview",
		collection + "/../../B/releases/app/preview",
		collection + "/app/../../../B/releases/app/preview",
		own + "/../../../../B/releases/app/preview",
		own + "/../../../../../../../../../preview/B/app",
		own + "/..", own + "/../history", own + "/../diff", own + "/.", own + "/", own + "//", own + "/x",
		collection + "/%2e%2e%2fB%2fapp/preview", collection + "/..%2f..%2fB%2freleases%2fapp/preview", collection + "/%2e%2e/preview", collection + "/../preview", collection + "/./preview",
		collection + "/app%2fpreview", collection + "/app%2f..%2f..%2fB%2fapp/preview", collection + "/app%00/preview", collection + "/app%0a/preview", collection + "/app%0d%0aX-Evil:%201/preview",
		collection + "/app%20HTTP%2f1.1%0d%0aHost:%20x%0d%0a%0d%0a/preview", collection + "/app;x=y/preview", collection + "/app/preview;x=y", collection + "/app%3b/preview", collection + "/app%3frevision=x/preview", collection + "/app%23/preview",
		collection + "//preview", collection + "//app/preview", collection + "/%20/preview", collection + "/app%252f..%252f..%252fB%252fapp/preview", collection + "/app\\..\\B/preview", collection + "/app%5c..%5cB/preview",
		collection + "/%c0%ae%c0%ae%c0%afB/preview", collection + "/%e2%80%ae/preview", collection + "/APP/preview", collection + "/app/PREVIEW", collection + "/app/preview%00", collection + "/app/history", collection + "/app/secrets",
		"/apis/core.convoy.kumodo.io/v1alpha1/namespaces/A%2f..%2fB/releases/app/preview",
		"/apis/core.convoy.kumodo.io/v1alpha1/namespaces/%2e%2e/releases/app/preview", "/apis/core.convoy.kumodo.io/v1alpha1/namespaces//releases/app/preview", "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/A/../B/releases/app/preview",
		"/apis/core.convoy.kumodo.io/v1alpha1/releases/app/preview", "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/A;B/releases/app/preview", "//apis/core.convoy.kumodo.io/v1alpha1/namespaces/B/releases/app/preview",
		"/preview/A/app", "/preview/B/app", "/history/B/app", "/etc/passwd", "/../../../../etc/passwd", "/metrics", "/debug/pprof/heap", "/configz", "/apis/../preview/B/app",
		"https://OBSERVER/preview/B/app", "http://OBSERVER/preview/B/app", "https://OBSERVER" + strings.ReplaceAll(own, "/A/", "/B/"), "https://x@OBSERVER" + own, "*", "/" + strings.Repeat("a", 9000),
		collection + "/" + strings.Repeat("a", 300) + "/preview", collection + "/" + strings.Repeat("a", 60000) + "/preview", collection + "/" + strings.Repeat("%2e%2e%2f", 3000) + "/preview", collection + "/" + strings.Repeat("../", 3000) + "B/app/preview",
	} {
		all = append(all, attack{name: "path " + short(target), target: target})
	}
	return all
}

func queries() []attack {
	var all []attack
	for _, query := range []string{
		"revision=../../B/app", "revision=%2e%2e%2f%2e%2e%2fB%2fapp", "revision=x&revision=../../../etc/passwd", "revision=a%0d%0aX-Evil:%201", "revision=a%00b", "revision=;x=y", "revision=a;namespace=B", "%72evision=x",
		"namespace=B&name=app", "path=/history/B/app", "url=https://OBSERVER/", "revision=%23%3f%26", "revision=" + strings.Repeat("x", 50000), "revision=x#/../../B", "%", "%zz=1", "revision=%zz", "?revision=x", "=&=&==", "a[]=b&a[0]=c",
		"values=a%3db", "revision=%ff%fe", "revision=\xff\xfe", "dryRun=All", "watch=true", "pretty=true", strings.Repeat("a=b&", 5000), "timeout=1ns", "revision=file:///etc/passwd", "x-remote-user=admin",
	} {
		all = append(all, attack{name: "query " + short(query), query: query})
	}
	return all
}

func headers() []attack {
	var all []attack
	for _, header := range [][]string{
		{"Connection: X-Remote-User, X-Remote-Group"}, {"Connection: close, Accept, User-Agent, X-Forwarded-For"}, {"Connection: keep-alive, Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"},
		{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: v4.channel.k8s.io"},
		{"Connection: Upgrade", "Upgrade: SPDY/3.1"}, {"TE: trailers, chunked"}, {"Trailer: X-Remote-User"}, {"Keep-Alive: timeout=9999"}, {"Proxy-Connection: keep-alive"}, {"Proxy-Authorization: Basic YWRtaW46YWRtaW4="}, {"Expect: 100-continue"}, {"Expect: nonsense"},
		{"X-Remote-User: admin", "X-Remote-Group: system:masters", "X-Remote-Uid: 0", "X-Remote-Extra-Scopes: all"}, {"x-remote-user: admin", "X-REMOTE-GROUP: system:masters", "X_Remote_User: admin"}, {"X-Remote-User : admin"}, {"X-Remote-Extra-%0d%0a: a"},
		{"Impersonate-User: admin", "Impersonate-Group: system:masters"}, {"Authorization: Bearer nonsense"}, {"Authorization: Basic YWRtaW46YWRtaW4="}, {"Cookie: session=x"}, {"Accept: text/html"}, {"Accept-Encoding: br, gzip;q=0"}, {"Range: bytes=0-1"}, {"If-None-Match: *"},
		{"X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: OBSERVER", "Forwarded: host=OBSERVER", "X-Real-Ip: 1.2.3.4"}, {"X-Original-URL: /preview/B/app", "X-Rewrite-URL: /preview/B/app"}, {"X-HTTP-Method-Override: POST"}, {"Host: OBSERVER"}, {"Host: a\tb"},
		{"Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "Tracestate: a=b"}, {"Traceparent: " + strings.Repeat("x", 5000)}, {"Baggage: user=admin"}, {"User-Agent: evil"}, {"X-Stream-Protocol-Version: v4.channel.k8s.io"}, {"X-Evil: a\r\n X-Remote-User: admin"}, {"Audit-ID: evil"},
		{"Referer: https://OBSERVER/history/B/app", "Origin: https://OBSERVER"}, {"Via: 1.1 x", "Max-Forwards: 0"}, {"X-Big: " + strings.Repeat("x", 500000)},
	} {
		all = append(all, attack{name: "header " + short(strings.Join(header, ", ")), header: header})
	}
	return all
}

func bodies() []attack {
	second := "GET /preview/B/app HTTP/1.1\r\nHost: x\r\n\r\n"
	return []attack{
		{name: "a body", header: []string{"Content-Type: application/json", "Content-Length: 9"}, body: `{"a":"b"}`},
		{name: "a body in chunks", header: []string{"Transfer-Encoding: chunked"}, body: "9\r\n{\"a\":\"b\"}\r\n0\r\n\r\n"},
		{name: "two lengths", header: []string{"Content-Length: 4", "Content-Length: 5"}, body: "12345"},
		{name: "length and chunks", header: []string{"Content-Length: 4", "Transfer-Encoding: chunked"}, body: "0\r\n\r\n" + second},
		{name: "chunks spelled oddly", header: []string{"Transfer-Encoding: xchunked"}, body: second},
		{name: "chunks twice", header: []string{"Transfer-Encoding: chunked", "Transfer-Encoding: identity"}, body: "0\r\n\r\n" + second},
		{name: "a trailer", header: []string{"Transfer-Encoding: chunked", "Trailer: X-Remote-User"}, body: "1\r\na\r\n0\r\nX-Remote-User: admin\r\n\r\n"},
		{name: "a second request in the body", header: []string{fmt.Sprintf("Content-Length: %d", len(second))}, body: second},
		{name: "a second request behind the first", body: second},
		{name: "a second request behind an upgrade", header: []string{"Connection: Upgrade", "Upgrade: websocket"}, body: second},
	}
}

func methods() []attack {
	var all []attack
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "GET /preview/B/app HTTP/1.1\r\nX:"} {
		all = append(all, attack{name: "method " + short(method), method: method, header: []string{"Content-Length: 0"}})
	}
	return all
}

func short(text string) string { return fmt.Sprintf("%.60q", text) }

// raw is the request as bytes.
func (a attack) raw(place *strings.Replacer) string {
	method, target := a.method, a.target
	if method == "" {
		method = http.MethodGet
	}
	if target == "" {
		target = own
	}
	if a.query != "" {
		target += "?" + a.query
	}
	lines := []string{method + " " + target + " HTTP/1.1"}
	if !strings.HasPrefix(strings.Join(a.header, ""), "Host:") {
		lines = append(lines, "Host: convoy")
	}
	return place.Replace(strings.Join(append(lines, a.header...), "\r\n") + "\r\n\r\n" + a.body)
}

// throw sends bytes over a connection of their own with the client's certificate, and returns
// the answers, bytes again.
func (c *client) throw(ctx context.Context, method, raw string) string {
	GinkgoHelper()
	server, err := url.Parse(c.server)
	Expect(err).NotTo(HaveOccurred())
	settings := c.tls.Clone()
	settings.NextProtos = []string{"http/1.1"}
	settings.ServerName = server.Hostname()
	connection, err := (&tls.Dialer{Config: settings}).DialContext(ctx, "tcp", server.Host)
	Expect(err).NotTo(HaveOccurred())
	defer connection.Close()
	go func() { _, _ = io.WriteString(connection, raw) }()
	return readAnswers(connection, method)
}

// readAnswers reads the answer to a method, and then whatever comes right behind it.
func readAnswers(connection net.Conn, method string) string {
	GinkgoHelper()
	Expect(connection.SetReadDeadline(time.Now().Add(20 * time.Second))).To(Succeed())
	reader := bufio.NewReader(connection)
	var all strings.Builder
	response, err := http.ReadResponse(bufio.NewReader(io.TeeReader(reader, &all)), &http.Request{Method: method})
	if err != nil {
		return all.String()
	}
	_, _ = io.Copy(io.Discard, response.Body)
	Expect(connection.SetReadDeadline(time.Now().Add(30 * time.Millisecond))).To(Succeed())
	rest, _ := io.ReadAll(io.LimitReader(reader, 1<<20))
	return all.String() + string(rest)
}
