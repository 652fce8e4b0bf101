// SPDX-License-Identifier: Apache-2.0

package testsource

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
)

// Proxy connects those who know its password to whatever they name.
type Proxy struct {
	// URL without user and password.
	URL string
	// Certificate of a proxy with TLS, in PEM form.
	Certificate []byte
	// Tunnels counts the connections made.
	Tunnels atomic.Int32
}

const (
	// ProxyUser and ProxyPassword open the proxies.
	ProxyUser, ProxyPassword = "proxy-user", "canary-proxy"
)

// ServeProxy serves an HTTP proxy, which does nothing but CONNECT.
func ServeProxy(t testing.TB, tls bool) *Proxy {
	t.Helper()
	p := &Proxy{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte(ProxyUser+":"+ProxyPassword))
		if r.Header.Get("Proxy-Authorization") != want {
			http.Error(w, "no: "+r.Header.Get("Proxy-Authorization"), http.StatusProxyAuthRequired)
			return
		}
		if r.Method != http.MethodConnect {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		there, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		here, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			_ = there.Close()
			return
		}
		p.Tunnels.Add(1)
		_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
		join(here, buffered, there)
	}))
	if tls {
		server.StartTLS()
		p.Certificate = Certificate(server)
	} else {
		server.Start()
	}
	server.Config.ErrorLog = Quiet()
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// join copies in both directions until both ends are closed.
func join(here net.Conn, fromHere io.Reader, there net.Conn) {
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(there, fromHere)
		_ = there.Close()
		close(done)
	}()
	_, _ = io.Copy(here, there)
	_ = here.Close()
	<-done
}

// ServeSOCKS serves a proxy with SOCKS 5 (RFC 1928) and passwords (RFC 1929).
func ServeSOCKS(t testing.TB) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	p := &Proxy{URL: "socks5://" + listener.Addr().String()}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go p.socks(connection)
		}
	}()
	return p
}

func (p *Proxy) socks(here net.Conn) {
	defer here.Close()
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(here, b)
		return b
	}
	read(int(read(2)[1]))
	_, _ = here.Write([]byte{5, 2})
	user := string(read(int(read(2)[1])))
	password := string(read(int(read(1)[0])))
	if user != ProxyUser || password != ProxyPassword {
		_, _ = here.Write([]byte{1, 1})
		return
	}
	_, _ = here.Write([]byte{1, 0})
	host := ""
	switch read(4)[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 3:
		host = string(read(int(read(1)[0])))
	}
	port := binary.BigEndian.Uint16(read(2))
	there, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		_, _ = here.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	p.Tunnels.Add(1)
	_, _ = here.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	join(here, here, there)
}
