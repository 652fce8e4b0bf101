// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/e2e/framework/certs"
	"kumodo.io/convoy/e2e/framework/httpserver"
)

const openWatches = 50

var _ = Describe("A replica that is told to end", func() {
	for name, flags := range map[string][]string{
		"as it is shipped": nil,
		"with a delay":     {"shutdown-delay-duration=3s"},
	} {
		It("ends well within its grace period, "+name+", with open watches and a slow request", func(ctx SpecContext) {
			namespace := suite.namespace(ctx)
			suite.createRelease(ctx, namespace, "app")
			one := suite.extraReplica(ctx, apiServer+"-ending-"+fmt.Sprint(len(flags)), flags...)
			asker := suite.admin.at(one)

			ends := openWatchesOf(ctx, asker, namespace)
			arrived, released := make(chan struct{}), make(chan struct{})
			release := sync.OnceFunc(func() { close(released) })
			DeferCleanup(func(context.Context) { release() })
			suite.observer.answerWith(func(w http.ResponseWriter, _ *http.Request) {
				close(arrived)
				<-released
				w.Header().Set("Content-Type", jsonType)
				_, _ = io.WriteString(w, `{"kind":"ReleasePreview","of":"late"}`)
			})
			slow := make(chan answer, 1)
			go func() {
				defer GinkgoRecover()
				slow <- asker.get(ctx, releasePath(namespace, "app", "preview"))
			}()
			Eventually(ctx, arrived).Should(BeClosed())

			started := time.Now()
			one.signal(syscall.SIGTERM)
			servesThroughItsDelay(ctx, one, namespace)
			// The watches end while the request still runs: neither waits for the other.
			for range openWatches {
				Expect(<-ends).To(Succeed())
			}
			AddReportEntry("watches ended after", time.Since(started).Round(10*time.Millisecond).String())
			Consistently(one.Done(), "1s").ShouldNot(BeClosed(), "it waits for the request")
			release()
			got := <-slow
			Expect(got.code).To(Equal(http.StatusOK), got.body)
			Expect(got.body).To(ContainSubstring("late"))
			Expect(one.ended(ctx)).To(Equal("exit status 0"))
			AddReportEntry("it ended after", time.Since(started).Round(10*time.Millisecond).String())
		}, NodeTimeout(2*time.Minute))
	}

	It("ends at once when it is told twice", func(ctx SpecContext) {
		namespace := suite.namespace(ctx)
		one := suite.extraReplica(ctx, apiServer+"-impatient", "shutdown-delay-duration=60s")
		openWatchesOf(ctx, suite.admin.at(one), namespace)
		one.signal(syscall.SIGTERM)
		Eventually(ctx, func() int { return suite.anonymous().at(one).get(ctx, "/readyz").code }).Should(Equal(http.StatusInternalServerError))
		one.signal(syscall.SIGTERM)
		Eventually(ctx, one.Done()).WithTimeout(5 * time.Second).Should(BeClosed())
		Expect(one.ended(ctx)).To(Equal("exit status 1"))
	})
})

// servesThroughItsDelay checks a replica that was told to end and waits for its balancer: it
// is not ready, but lives, and serves whoever still comes. A replica that does not wait fails
// every client whom the balancer sends until it has noticed.
func servesThroughItsDelay(ctx context.Context, one *replica, namespace string) {
	GinkgoHelper()
	probe := suite.anonymous().at(one)
	Eventually(ctx, func() (string, error) {
		got, err := probe.try(ctx, call{method: http.MethodGet, path: "/readyz"})
		return got.String(), err
	}).WithTimeout(endpointLag).Should(And(HavePrefix("500"), ContainSubstring("[-]shutdown failed")), "it tells that it ends, and still listens")
	Expect(probe.get(ctx, "/livez").code).To(Equal(http.StatusOK))
	Expect(probe.get(ctx, "/healthz").code).To(Equal(http.StatusOK))
	fresh := suite.user("late-comer", "system:masters").at(one)
	Expect(fresh.get(ctx, releasePath(namespace, "app")).code).To(Equal(http.StatusOK))
	Expect(fresh.patch(ctx, releasePath(namespace, "app"), `{"metadata":{"labels":{"late":"yes"}}}`).code).To(Equal(http.StatusOK))
}

// openWatchesOf opens watches, and tells of each how it ended: well is nil.
func openWatchesOf(ctx context.Context, c *client, namespace string) <-chan error {
	GinkgoHelper()
	ends := make(chan error, openWatches)
	var open sync.WaitGroup
	for range openWatches {
		response, err := c.open(ctx, call{method: http.MethodGet, path: releasesPath(namespace) + "?watch=true&resourceVersion=0"})
		Expect(err).NotTo(HaveOccurred())
		Expect(response.StatusCode).To(Equal(http.StatusOK))
		open.Add(1)
		go func() {
			defer response.Body.Close()
			open.Done()
			reader := bufio.NewReader(response.Body)
			for {
				if _, err := reader.ReadBytes('\n'); err != nil {
					if errors.Is(err, io.EOF) {
						err = nil
					}
					ends <- err
					return
				}
			}
		}()
	}
	open.Wait()
	return ends
}

var _ = Describe("Probes", func() {
	It("answer everybody, and only the probes do", func(ctx SpecContext) {
		probe := suite.anonymous().at(suite.replicas[0])
		for _, path := range []string{"/livez", "/readyz", "/healthz", "/livez?exclude=etcd", "/livez/ping", "/readyz?verbose"} {
			want := http.StatusOK
			if path == "/livez/ping" {
				want = http.StatusForbidden // single checks are for those who may
			}
			Expect(probe.get(ctx, path).code).To(Equal(want), path)
		}
		for _, path := range []string{"/metrics", "/apis", "/openapi/v2", "/openapi/v3", "/debug/pprof/", "/configz", "/flagz", "/statusz"} {
			Expect(probe.get(ctx, path).code).To(Equal(http.StatusForbidden), path)
		}
	})

	It("say that a replica is ready only when it knows whom to believe", func(ctx SpecContext) {
		// The way to the host is slow for what tells of the authorities that sign clients.
		host := suite.slowHost("configmaps", 2*time.Second)
		one := suite.readyReplica(ctx, apiServer+"-distrustful", "authentication-kubeconfig="+host)
		DeferCleanup(func(ctx SpecContext) { Expect(one.Stop(ctx)).To(Succeed()) })
		got := suite.admin.at(one).get(ctx, groupPaths[0]+"/releases?limit=1")
		Expect(got.code).To(Equal(http.StatusOK), "a replica that is ready takes its clients for strangers: %s", got)
	})
})

// slowHost is a kubeconfig of convoy-apiserver's account that leads to the host by a proxy,
// which is slow with watches of a resource.
func (r *rig) slowHost(resource string, delay time.Duration) string {
	GinkgoHelper()
	host, err := url.Parse(r.host.URL())
	Expect(err).NotTo(HaveOccurred())
	proxy := httputil.NewSingleHostReverseProxy(host)
	proxy.Transport = r.anonymous().http.Transport
	proxy.FlushInterval = -1
	pair, err := r.host.CA().Server("slow-host", "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	server, err := httpserver.Start(httpserver.Options{Certificate: &pair, Handler: http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		if strings.Contains(in.URL.Path, resource) && in.URL.Query().Get("watch") != "" {
			select {
			case <-time.After(delay):
			case <-in.Context().Done():
				return
			}
		}
		proxy.ServeHTTP(w, in)
	})})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		ended, cancel := context.WithCancel(ctx)
		cancel() // watches never end by themselves
		_ = server.Close(ended)
	})
	token, err := r.token(context.Background(), apiServer)
	Expect(err).NotTo(HaveOccurred())
	path := r.path("slow-host.kubeconfig")
	Expect(certs.Kubeconfig{Cluster: "host", Server: server.URL(), CA: r.host.CA().Bundle(), Token: token}.Write(path)).To(Succeed())
	return path
}
