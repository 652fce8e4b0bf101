// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/fetch/internal/testsource"
)

// pipes are a network in memory, on which it shows when nothing moves any more.
type pipes struct {
	offered chan net.Conn
	closed  chan struct{}
	close   sync.Once
}

func (p *pipes) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.offered <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.offered:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

// TestHTTP2ReadsLittleAhead of who does not read, and goes on with who does.
func TestHTTP2ReadsLittleAhead(t *testing.T) {
	const all, piece = 8 << 20, 16 << 10
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var sent atomic.Int64
		network := &pipes{offered: make(chan net.Conn), closed: make(chan struct{})}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for range all / piece {
				n, err := w.Write(make([]byte, piece))
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		}))
		g.Expect(server.Listener.Close()).To(Succeed())
		server.Listener, server.EnableHTTP2, server.Config.ErrorLog = network, true, testsource.Quiet()
		server.StartTLS()
		defer server.Close()
		base, err := url.Parse("https://127.0.0.1")
		g.Expect(err).NotTo(HaveOccurred())
		client, err := (&Access{authorities: []bundle{{pem: testsource.Certificate(server)}}}).NewClient(base, Options{})
		g.Expect(err).NotTo(HaveOccurred())
		defer client.Close()
		client.transport.own.DialContext = network.DialContext
		response, err := client.Get(base.String())
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = response.Body.Close() }()
		g.Expect(response.ProtoMajor).To(Equal(2))

		synctest.Wait() // until nothing moves any more
		g.Expect(sent.Load()).To(BeNumerically("~", readAhead, 64<<10))
		g.Expect(io.Copy(io.Discard, response.Body)).To(BeEquivalentTo(all))
	})
}
