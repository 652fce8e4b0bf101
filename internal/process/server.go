// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// checkTimeout bounds one probe.
const checkTimeout = 5 * time.Second

// Check returns an error while something is not as it should be.
type Check func(ctx context.Context) error

// Endpoints serves /metrics, /livez and /readyz. Being alive means to answer; being ready
// means that every check passes.
type Endpoints struct {
	addr     string
	gatherer prometheus.Gatherer

	mu     sync.Mutex
	checks map[string]Check
}

// NewEndpoints returns endpoints to be served at addr.
func NewEndpoints(addr string, gatherer prometheus.Gatherer) *Endpoints {
	return &Endpoints{addr: addr, gatherer: gatherer, checks: map[string]Check{}}
}

// AddReadyCheck adds a check to /readyz under a name.
func (e *Endpoints) AddReadyCheck(name string, check Check) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.checks[name] = check
}

// Run serves until ctx ends.
func (e *Endpoints) Run(ctx context.Context) error {
	return Serve(ctx, e.addr, e.handler(), nil)
}

func (e *Endpoints) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(e.gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", e.ready)
	return mux
}

func (e *Endpoints) ready(w http.ResponseWriter, req *http.Request) {
	ctx, cancel := context.WithTimeout(req.Context(), checkTimeout)
	defer cancel()
	e.mu.Lock()
	names := make([]string, 0, len(e.checks))
	checks := make(map[string]Check, len(e.checks))
	for name, check := range e.checks {
		names = append(names, name)
		checks[name] = check
	}
	e.mu.Unlock()
	slices.Sort(names)
	var failed []string
	for _, name := range names {
		if err := checks[name](ctx); err != nil {
			failed = append(failed, name+": "+err.Error())
		}
	}
	if len(failed) > 0 {
		http.Error(w, strings.Join(failed, "\n"), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// Serve serves HTTP at addr until ctx ends, then lets requests under way end for a moment.
// wrap may turn the listener into another one, such as one that speaks TLS; nil leaves it.
func Serve(ctx context.Context, addr string, handler http.Handler, wrap func(net.Listener) net.Listener) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	if wrap != nil {
		listener = wrap(listener)
	}
	return serve(ctx, listener, handler)
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return fmt.Errorf("serving %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
