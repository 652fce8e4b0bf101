// SPDX-License-Identifier: Apache-2.0

package look

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/suites/scenario"
)

// crowd asks convoy-observer as convoy-apiserver does, for many users at once.
type crowd struct {
	client *http.Client
	mu     sync.Mutex
	codes  map[int]int
	bodies map[string]int
	wg     sync.WaitGroup
}

func newCrowd() *crowd {
	GinkgoHelper()
	ca := suite.Host.CA()
	pair, err := ca.Client("look", installation.APIServer)
	Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.LoadX509KeyPair(pair.CertFile, pair.KeyFile)
	Expect(err).NotTo(HaveOccurred())
	pool := x509.NewCertPool()
	Expect(pool.AppendCertsFromPEM(ca.Bundle())).To(BeTrue())
	// A connection that waits for its handshake longer than a server waits for a request is cut: on a slow
	// machine thousands at once would be, before any of them has asked for something.
	dialer := tls.Dialer{Config: &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: pool}}
	shaking := make(chan struct{}, 200)
	transport := &http.Transport{MaxIdleConnsPerHost: 2000, DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		shaking <- struct{}{}
		defer func() { <-shaking }()
		return dialer.DialContext(ctx, network, address)
	}}
	DeferCleanup(transport.CloseIdleConnections)
	return &crowd{client: &http.Client{Transport: transport}, codes: map[int]int{}, bodies: map[string]int{}}
}

func (c *crowd) ask(ctx context.Context, user, path string) {
	c.wg.Go(func() {
		defer GinkgoRecover()
		code, body := c.get(ctx, user, path)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.codes[code]++
		if code == http.StatusOK {
			c.bodies[body]++
		}
	})
}

func (c *crowd) get(ctx context.Context, user, path string) (int, string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+suite.Convoy.ObserverAddress()+path, nil)
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("X-Remote-User", user)
	response, err := c.client.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(body)
}

// gauge reads a metric of convoy-observer.
func gauge(ctx context.Context, name string) float64 {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, suite.Convoy.MetricsURL(installation.Observer), nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	match := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	Expect(match).NotTo(BeNil(), name)
	value, err := strconv.ParseFloat(string(match[1]), 64)
	Expect(err).NotTo(HaveOccurred())
	return value
}

var _ = Describe("However many ask", func() {
	const objects = 20
	ready := func(ctx context.Context) *scenario.Namespace {
		files := map[string]string{}
		for i := range objects {
			files[fmt.Sprintf("a/%d.yaml", i)] = scenario.ConfigMap(fmt.Sprintf("cm-%d", i), "v", "1")
		}
		n := suite.NewNamespace(ctx, files)
		n.Create(ctx, n.GitRelease("web", scenario.Edge, "a"))
		n.AwaitReady(ctx, "web")
		return n
	}

	It("a thousand previews cost one render and few requests", func(ctx SpecContext) {
		n := ready(ctx)
		c := newCrowd()
		n.Update(ctx, "web", func(r *corev1alpha1.Release) { r.Spec.Suspend = true })
		unseen := n.Commit(ctx, map[string]string{"a/0.yaml": scenario.ConfigMap("cm-0", "v", "2")})
		renders, from := gauge(ctx, "convoy_render_renders_total"), len(auditLog(ctx, n))
		start := time.Now()
		for range 1000 {
			c.ask(ctx, "alice", "/preview/"+n.Name+"/web?revision="+unseen)
		}
		c.wg.Wait()
		took := time.Since(start)
		Expect(c.codes).To(Equal(map[int]int{http.StatusOK: 1000}))
		Expect(c.bodies).To(HaveLen(1))
		made := gauge(ctx, "convoy_render_renders_total") - renders
		counts := asked(ctx, n, from)
		AddReportEntry("cost", fmt.Sprintf("1000 previews in %v: %v renders, requests to the target: %v", took, made, counts))
		Expect(made).To(BeEquivalentTo(1))
		Expect(counts["patch"]).To(BeNumerically("<=", 10*objects), "they are answered in a few rounds")
	}, NodeTimeout(limit))

	It("who asks for much is refused, and others are answered", func(ctx SpecContext) {
		n := ready(ctx)
		c := newCrowd()
		alice := newCrowd() // of connections of her own
		code, body := alice.get(ctx, "alice", "/history/"+n.Name+"/web")
		Expect(code).To(Equal(http.StatusOK), body)
		memory, goroutines := gauge(ctx, "process_resident_memory_bytes"), gauge(ctx, "go_goroutines")
		from := len(auditLog(ctx, n))
		start := time.Now()
		for i := range 3000 {
			c.ask(ctx, fmt.Sprintf("mallory-%d", i%5), fmt.Sprintf("/preview/%s/web?revision=%d", n.Name, i))
		}
		var slowest time.Duration
		for range 20 {
			for _, path := range []string{"/health/", "/history/"} {
				begin := time.Now()
				code, body := alice.get(ctx, "alice", path+n.Name+"/web")
				Expect(code).To(Equal(http.StatusOK), body)
				slowest = max(slowest, time.Since(begin))
			}
		}
		peak, many := gauge(ctx, "process_resident_memory_bytes"), gauge(ctx, "go_goroutines")
		c.wg.Wait()
		AddReportEntry("cost", fmt.Sprintf("3000 different questions of 5 users in %v: codes %v; memory %.0f -> %.0f MiB, goroutines %.0f -> %.0f; slowest health or history of another user %v; requests %v",
			time.Since(start), c.codes, memory/(1<<20), peak/(1<<20), goroutines, many, slowest, asked(ctx, n, from)))
		Expect(c.codes[http.StatusTooManyRequests]).To(BeNumerically(">", 1000))
		Expect(c.codes[http.StatusOK]).To(BeZero(), "there are no such revisions")
		code, body = alice.get(ctx, "alice", "/preview/"+n.Name+"/web")
		Expect(code).To(Equal(http.StatusOK), body)
	}, NodeTimeout(limit))
})
