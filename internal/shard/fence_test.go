// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// wire is what is under a fence: it counts the requests whose bodies were sent to the end.
type wire struct {
	slow atomic.Int64 // how long a connection takes to open
	sent atomic.Int64
}

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(w.slow.Load()))
	if request.Body != nil {
		defer request.Body.Close()
		if _, err := io.ReadAll(request.Body); err != nil {
			return nil, err
		}
	}
	w.sent.Add(1)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// send sends a request to the wire through the replica's fence.
func (r *replica) send(g *WithT, w http.RoundTripper, method string) error {
	var body io.Reader
	if method != http.MethodGet && method != http.MethodDelete {
		body = strings.NewReader("{}")
	}
	request, err := http.NewRequestWithContext(context.Background(), method, "https://target.example.com/", body)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = r.o.Fence.Wrap(w).RoundTrip(request)
	return err
}

var writes = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func TestNothingIsWrittenAfterAPause(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		wire := &wire{}
		a := w.start("a", 2, func(r *replica, _ *Options) { r.drain = 3 * time.Second })
		within(g, soon, "a owns all", func() bool { return len(a.Owned()) == 2 })
		a.pause()
		b := w.start("b", 2) // so that a is to give something up, which hangs
		time.Sleep(9 * time.Second)
		for _, method := range writes {
			g.Expect(a.send(g, wire, method)).To(Succeed())
		}
		within(g, 25*time.Second, "b takes over", func() bool { return len(b.Owned()) == 2 })
		wire.sent.Store(0)
		refused := func(when string) {
			for _, method := range writes {
				err := a.send(g, wire, method)
				g.Expect(err).To(MatchError(ErrLeaseRanOut), when)
				g.Expect(err).To(MatchError(context.Canceled), when)
			}
			g.Expect(wire.sent.Load()).To(BeZero())
		}
		refused("while the loop that would notice stands still")
		g.Expect(a.send(g, wire, http.MethodGet)).To(Succeed(), "reads pass")
		wire.sent.Store(0)

		a.wake()
		synctest.Wait()
		refused("as soon as it noticed")
		time.Sleep(2 * time.Second)
		refused("while the work is being cut off")
		within(g, 10*time.Second, "a works again", func() bool { return len(a.Owned()) == 1 })
		g.Expect(a.send(g, wire, http.MethodPatch)).To(Succeed())
	})
}

// In time when it was begun, but what it waited for took too long.
func TestAWriteThatWaitsBelowTheFence(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		wire := &wire{}
		wire.slow.Store(int64(time.Second))
		a := w.start("a", 1)
		within(g, soon, "a owns all", func() bool { return a.Owns(0) })
		a.pause()
		for range 30 {
			err := a.send(g, wire, http.MethodPatch)
			if a.Owns(0) {
				g.Expect(err).NotTo(HaveOccurred())
				continue
			}
			g.Expect(err).To(MatchError(ErrLeaseRanOut))
			break
		}
		g.Expect(a.Owns(0)).To(BeFalse())
		a.wake()
	})
}

func TestWorkThatIsHandedOverIsFinished(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		wire := &wire{}
		a := w.start("a", 2, func(r *replica, _ *Options) { r.drain = time.Minute })
		within(g, soon, "a owns all", func() bool { return len(a.Owned()) == 2 })
		w.start("b", 2)
		for range 50 {
			time.Sleep(time.Second)
			g.Expect(a.send(g, wire, http.MethodPatch)).To(Succeed(), "its Lease is renewed until it is done")
		}
		g.Expect(a.Owned()).To(HaveLen(1))
	})
}

func TestALeaseThatWasTakenClosesTheFence(t *testing.T) {
	inWorld(t, func(g *WithT, w *world) {
		wire := &wire{}
		a := w.start("a", 1, func(r *replica, _ *Options) { r.drain = time.Minute })
		within(g, soon, "a owns all", func() bool { return a.Owns(0) })
		w.put(g, "convoy-cm-0", "somebody", "1")
		within(g, soon, "a finds out", func() bool { return !a.Owns(0) })
		g.Expect(a.send(g, wire, http.MethodPatch)).To(MatchError(ErrLeaseRanOut))
	})
}

// slow is a server that answers after a while, whether anybody waits or not.
type slow time.Duration

func (s slow) RoundTrip(request *http.Request) (*http.Response, error) {
	select {
	case <-time.After(time.Duration(s)):
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
}

// outage is a cause after which no answer comes.
type outage struct{ error }

func (outage) NoAnswer() bool { return true }

// Whoever is cut off may give a shard up next, and what it has sent takes effect nevertheless.
func TestAWriteWhoseCallerIsCutOff(t *testing.T) {
	for _, test := range []struct {
		name   string
		server slow
		method string
		end    func(context.Context) (context.Context, context.CancelFunc)
		cause  error
		over   bool // the time on a shard is
		want   error
		after  time.Duration
	}{
		{name: "is waited for", server: slow(2 * time.Second), after: 2 * time.Second},
		{name: "is not waited for long", server: slow(time.Minute), want: context.Canceled, after: time.Second + lingering},
		{name: "is not waited for when others may have the shard", server: slow(time.Minute), over: true, want: context.Canceled, after: time.Second},
		{name: "is not waited for beyond its deadline", server: slow(time.Minute), want: context.DeadlineExceeded, after: time.Second,
			end: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, time.Second)
			}},
		{name: "is not waited for when no answer will come", server: slow(time.Minute), cause: fmt.Errorf("outage: %w", outage{errors.New("refused")}),
			want: context.Canceled, after: time.Second},
		{name: "reads are not", server: slow(time.Minute), method: http.MethodGet, want: context.Canceled, after: time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				fence := &Fence{}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if test.end == nil {
					time.AfterFunc(time.Second, func() {
						if test.over {
							fence.manager.Store(&Manager{clock: wrongClock{}, ending: time.Now()})
						}
						cancel(test.cause)
					})
				} else {
					var stop context.CancelFunc
					ctx, stop = test.end(ctx)
					defer stop()
				}
				method := test.method
				if method == "" {
					method = http.MethodDelete
				}
				request, err := http.NewRequestWithContext(ctx, method, "https://target.example.com/", nil)
				g.Expect(err).NotTo(HaveOccurred())
				began := time.Now()
				response, err := fence.Wrap(test.server).RoundTrip(request)
				g.Expect(time.Since(began)).To(Equal(test.after))
				if test.want != nil {
					g.Expect(err).To(MatchError(test.want))
					return
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(response.Body.Close()).To(Succeed())
			})
		})
	}
}

// A real server sees nothing that could be taken for the whole of a write.
func TestAServerOfARefusedWrite(t *testing.T) {
	g := NewWithT(t)
	var whole atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			whole.Add(1)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	for _, transport := range []http.RoundTripper{server.Client().Transport, noHTTP2(server)} {
		fence := &Fence{}
		client := &http.Client{Transport: fence.Wrap(transport)}
		patch := func(body io.Reader) error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, server.URL, body)
			g.Expect(err).NotTo(HaveOccurred())
			request.ContentLength = 2
			answer, err := client.Do(request)
			if err == nil {
				err = answer.Body.Close()
			}
			return err
		}
		g.Expect(patch(strings.NewReader("{}"))).To(Succeed())
		g.Expect(patch(&closing{strings.NewReader("{}"), fence})).To(MatchError(ErrLeaseRanOut))
	}
	server.Close() // waits for what is under way
	g.Expect(whole.Load()).To(Equal(int64(2)))
}

func noHTTP2(server *httptest.Server) http.RoundTripper {
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = false
	transport.TLSClientConfig.NextProtos = []string{"http/1.1"}
	transport.TLSNextProto = nil
	return transport
}

// closing is a body at whose reading the fence is closed: by a Manager whose time is over.
type closing struct {
	io.Reader
	fence *Fence
}

func (c *closing) Read(p []byte) (int, error) {
	m := &Manager{clock: wrongClock{}, ending: time.Now().Add(-time.Second)}
	c.fence.manager.Store(m)
	return c.Reader.Read(p)
}

func TestAFenceWithoutAManagerIsOpen(t *testing.T) {
	g := NewWithT(t)
	g.Expect((&Fence{}).Check()).To(Succeed())
	g.Expect(errors.Is(&refusal{}, io.EOF)).To(BeFalse())
}
