// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// proxy is the way of a replica to the clusters, by CONNECT. What it passes on comes from an
// address of the loopback that tells the replica. Whatever name it is asked for is on this
// machine: proxies are not used for names and addresses of the loopback.
type proxy struct {
	*httptest.Server

	mu     sync.Mutex
	source net.IP
}

func newProxy() *proxy {
	p := &proxy{}
	p.Server = httptest.NewServer(http.HandlerFunc(p.connect))
	return p
}

// sendFrom says from which address connections come that are opened from now on.
func (p *proxy) sendFrom(source net.IP) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.source = source
}

func (p *proxy) connect(w http.ResponseWriter, r *http.Request) {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil || r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: p.source}}
	p.mu.Unlock()
	server, err := dialer.DialContext(r.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = server.Close()
		return
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = client.Close()
		_ = server.Close()
		return
	}
	carry := func(to, from net.Conn, content io.Reader) {
		_, _ = io.Copy(to, content)
		// What one side has sent to its end is at its end for the other.
		_ = to.(*net.TCPConn).CloseWrite()
	}
	var both sync.WaitGroup
	both.Go(func() { carry(server, client, buffered) })
	both.Go(func() { carry(client, server, server) })
	both.Wait()
	_ = client.Close()
	_ = server.Close()
}

func TestProxy(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		_, _ = io.WriteString(w, host)
	}))
	t.Cleanup(server.Close)
	p := newProxy()
	t.Cleanup(p.Close)
	ask := func() string {
		transport := server.Client().Transport.(*http.Transport).Clone()
		defer transport.CloseIdleConnections()
		transport.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(p.URL) }
		transport.TLSClientConfig.ServerName = "127.0.0.1"
		answer, err := (&http.Client{Transport: transport}).Get(fmt.Sprintf("https://cluster.test:%d/", server.Listener.Addr().(*net.TCPAddr).Port))
		g.Expect(err).NotTo(HaveOccurred())
		defer answer.Body.Close()
		content, err := io.ReadAll(answer.Body)
		g.Expect(err).NotTo(HaveOccurred())
		return string(content)
	}
	for _, source := range []string{"127.10.1.1", "127.10.1.2"} {
		p.sendFrom(net.ParseIP(source))
		g.Expect(ask()).To(Equal(source))
	}
}
