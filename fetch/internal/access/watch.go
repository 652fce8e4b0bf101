// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"kumodo.io/convoy/fetch/internal/fault"
)

// Watch sees what the requests of one operation meet on their way: how much comes, and
// whether the source's host turns them away whatever they ask for.
type Watch struct {
	host     string
	received func(bytes int)
	await    func() (ended func())

	mu       sync.Mutex
	answered bool
	away     string
	wait     time.Duration
}

// NewWatch returns a Watch of an operation whose source is at a host, as HostKey names it.
// received is told of bytes as they come. await is called before the operation waits for what
// may not come, and what it returns after it.
func NewWatch(host string, received func(bytes int), await func() (ended func())) *Watch {
	return &Watch{host: host, received: received, await: await}
}

type watchKey struct{}

// Watched returns a context whose requests w sees.
func Watched(ctx context.Context, w *Watch) context.Context {
	return context.WithValue(ctx, watchKey{}, w)
}

func watchOf(ctx context.Context) *Watch {
	w, _ := ctx.Value(watchKey{}).(*Watch)
	return w
}

// TurnedAway says why the host took no request, "" when it took the last one, and how long
// it wants to be left alone. It holds for everyone who goes there the same way with the same
// credentials, not just for what was asked.
func (w *Watch) TurnedAway() (why string, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.away, w.wait
}

// Answered says whether the host answered anything at all.
func (w *Watch) Answered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answered
}

func (w *Watch) note(answered bool, away string, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered, w.away, w.wait = w.answered || answered, away, wait
}

// waits is await for an operation that need not be watched.
func (w *Watch) waits() (ended func()) {
	if w == nil {
		return func() {}
	}
	return w.await()
}

// Waits is called before the operation of the context waits for what may not come in another way
// than by this package, and what it returns after it.
func Waits(ctx context.Context) (ended func()) { return watchOf(ctx).waits() }

// Awaited reads what the operation of the context waits for.
func Awaited(ctx context.Context, r io.Reader) io.Reader { return &awaited{r, watchOf(ctx)} }

type awaited struct {
	io.Reader
	watch *Watch
}

func (a *awaited) Read(p []byte) (int, error) {
	defer a.watch.waits()()
	return a.Reader.Read(p)
}

// dialled sees how connecting to the host itself went.
func (w *Watch) dialled(ctx context.Context, err error) {
	if w == nil || ctx.Err() != nil {
		return
	}
	w.note(err == nil, unreached(err), 0)
}

// exchanged sees the answer to a request, whose body it counts.
func (w *Watch) exchanged(r *http.Request, response *http.Response, err error) {
	if w == nil || r.Context().Err() != nil {
		return
	}
	if response != nil && response.Body != nil {
		response.Body = &counted{ReadCloser: response.Body, watch: w}
	}
	if HostKey(r.URL) != w.host {
		return
	}
	switch {
	case err != nil:
		if why := unreached(err); why != "" {
			w.note(false, why, 0)
		}
	case response.StatusCode == http.StatusTooManyRequests:
		w.note(true, "it is asked too often (status 429)", retryAfter(response))
	case response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
		w.note(true, "it cannot serve now (status 503)", retryAfter(response))
	default:
		w.note(true, "", 0)
	}
}

// unreached says why no connection came about, "" when that is not what err is about.
// Certificates, which depend on what a source trusts, are not.
func unreached(err error) string {
	var operation *net.OpError
	var name *net.DNSError
	if errors.As(err, &name) || errors.As(err, &operation) && operation.Op == "dial" {
		return fault.FromRequest(err, nil).Error()
	}
	return ""
}

// retryAfter reads the header of that name, see RFC 9110, section 10.2.3.
func retryAfter(response *http.Response) time.Duration {
	value := response.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, until.Sub(now))
}

// counted tells of the bytes that are read.
type counted struct {
	io.ReadCloser
	watch *Watch
}

func (c *counted) Read(p []byte) (int, error) {
	ended := c.watch.waits()
	n, err := c.ReadCloser.Read(p)
	ended()
	c.watch.received(n)
	return n, err
}

// WatchedConn gives a connection whose bytes count for the operation of the context.
func WatchedConn(ctx context.Context, connection net.Conn) net.Conn {
	if watch := watchOf(ctx); watch != nil {
		return &countedConn{Conn: connection, watch: watch}
	}
	return connection
}

// countedConn is the same for a connection, which may be read from before anybody waits for that.
type countedConn struct {
	net.Conn
	watch *Watch
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.watch.received(n)
	return n, err
}
