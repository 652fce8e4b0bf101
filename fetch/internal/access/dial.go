// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/proxy"

	"kumodo.io/convoy/fetch/internal/fault"
)

// greetingBytes bounds what a proxy says before a connection stands.
const greetingBytes = 64 << 10

// Dial connects to address (host:port), through the proxy of the Secrets when there is one:
// with CONNECT to an http or https proxy, else with SOCKS 5. The host's name is resolved by
// the proxy. The error has a kind.
func (a *Access) Dial(ctx context.Context, address string) (net.Conn, error) {
	dialer := newDialer()
	var connection net.Conn
	var err error
	watch := watchOf(ctx)
	ended := watch.waits()
	switch {
	case a.proxy == nil:
		connection, err = dialer.DialContext(ctx, "tcp", address)
	case a.proxy.Scheme == "http" || a.proxy.Scheme == "https":
		connection, err = a.tunnel(ctx, dialer, address)
	default:
		connection, err = a.socks(ctx, dialer, address)
	}
	ended()
	watch.dialled(ctx, err)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fault.FromRequest(err, a.Scrubber())
	}
	return WatchedConn(ctx, connection), nil
}

// newDialer returns what connects to any server. An address that does not answer leaves time for
// the next one of the same name.
func newDialer() *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
}

func proxyAddress(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if port == "" {
		port = "1080"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func (a *Access) socks(ctx context.Context, dialer *net.Dialer, address string) (net.Conn, error) {
	var auth *proxy.Auth
	if user := a.proxy.User; user != nil {
		password, _ := user.Password()
		auth = &proxy.Auth{User: user.Username(), Password: password}
	}
	through, err := proxy.SOCKS5("tcp", proxyAddress(a.proxy), auth, dialer)
	if err != nil {
		return nil, err
	}
	contextual, ok := through.(proxy.ContextDialer)
	if !ok {
		return nil, errors.New("the proxy cannot be used")
	}
	return contextual.DialContext(ctx, "tcp", address)
}

// tunnel asks an HTTP proxy for a connection, see RFC 9110, section 9.3.6.
func (a *Access) tunnel(ctx context.Context, dialer *net.Dialer, address string) (net.Conn, error) {
	connection, err := dialer.DialContext(ctx, "tcp", proxyAddress(a.proxy))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	tunnelled, err := a.connect(ctx, connection, address)
	if err != nil {
		_ = connection.Close()
		return nil, err
	}
	return tunnelled, nil
}

func (a *Access) connect(ctx context.Context, connection net.Conn, address string) (net.Conn, error) {
	if a.proxy.Scheme == "https" {
		roots, err := a.roots()
		if err != nil {
			return nil, err
		}
		secured := tls.Client(connection, &tls.Config{RootCAs: roots, ServerName: a.proxy.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		connection = secured
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{"User-Agent": {userAgent}}}
	if user := a.proxy.User; user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", basic(user.Username(), password))
	}
	if err := request.Write(connection); err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: connection, N: greetingBytes}
	reader := bufio.NewReader(limited)
	response, err := http.ReadResponse(reader, request)
	switch {
	case err != nil:
		return nil, fault.New(fault.ErrUnreachable, "the proxy's answer cannot be read: %s", a.Scrubber().Clean(err.Error()))
	case response.StatusCode == http.StatusProxyAuthRequired:
		credentials := ""
		if a.proxy.User != nil {
			credentials = fault.SomeCredentials + " of the Secret " + a.proxyName
		}
		return nil, fault.FromStatus(response.StatusCode, "the proxy", credentials)
	case response.StatusCode != http.StatusOK:
		return nil, fault.New(fault.ErrUnreachable, "the proxy does not connect to %s: it answered with status %d", address, response.StatusCode)
	}
	limited.N = math.MaxInt64
	return &greeted{Conn: connection, reader: reader}, nil
}

// greeted is a connection of which the beginning may have been read already.
type greeted struct {
	net.Conn
	reader *bufio.Reader
}

func (g *greeted) Read(p []byte) (int, error) { return g.reader.Read(p) }
