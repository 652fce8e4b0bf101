// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// endpointLag is how long the balancer may send new connections to a replica that is not
// ready any more. In a cluster, the endpoint of a pod that ends is taken away on each node
// within about a second of its SIGTERM.
const endpointLag = time.Second

// balancer stands for a Service with endpoints: it gives each new connection to one of the
// replicas that are ready, in turn, and does not try another when that one refuses.
type balancer struct {
	listener net.Listener
	probe    *http.Client
	stop     context.CancelFunc
	done     sync.WaitGroup

	mu        sync.Mutex
	endpoints []*backend
	next      int
}

type backend struct {
	replica *replica
	ready   bool
	// given counts the connections.
	given int
}

func startBalancer(roots *x509.CertPool) *balancer {
	GinkgoHelper()
	listener, err := net.Listen("tcp", address(0))
	Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	b := &balancer{listener: listener, stop: stop, probe: &http.Client{
		Timeout:   endpointLag,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true},
	}}
	b.done.Go(b.accept)
	b.done.Go(func() { b.probeAll(ctx) })
	return b
}

func (b *balancer) port() int { return b.listener.Addr().(*net.TCPAddr).Port }

// Close ends the balancer; connections end with their replicas.
func (b *balancer) Close() error {
	if b == nil {
		return nil
	}
	b.stop()
	err := b.listener.Close()
	b.done.Wait()
	return err
}

// route sets the replicas, all of which are ready.
func (b *balancer) route(replicas ...*replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endpoints, b.next = nil, 0
	for _, one := range replicas {
		b.endpoints = append(b.endpoints, &backend{replica: one, ready: true})
	}
}

// given tells how many connections each replica was given.
func (b *balancer) given() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	given := map[string]int{}
	for _, e := range b.endpoints {
		given[e.replica.Name()] = e.given
	}
	return given
}

func (b *balancer) probeAll(ctx context.Context) {
	ticker := time.NewTicker(endpointLag)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		b.mu.Lock()
		endpoints := b.endpoints
		b.mu.Unlock()
		for _, e := range endpoints {
			response, err := b.probe.Get(e.replica.url() + "/readyz")
			ready := err == nil && response.StatusCode == http.StatusOK
			if err == nil {
				response.Body.Close()
			}
			b.mu.Lock()
			e.ready = ready
			b.mu.Unlock()
		}
	}
}

func (b *balancer) accept() {
	for {
		connection, err := b.listener.Accept()
		if err != nil {
			return
		}
		go b.serve(connection)
	}
}

func (b *balancer) serve(connection net.Conn) {
	defer connection.Close()
	target := b.pick()
	if target == "" {
		return
	}
	onward, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer onward.Close()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{onward, connection}, {connection, onward}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done // one side has nothing more to say; TLS knows no half of a connection
}

func (b *balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.endpoints {
		e := b.endpoints[b.next%len(b.endpoints)]
		b.next++
		if e.ready {
			e.given++
			return e.replica.address()
		}
	}
	return ""
}
