// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
)

const kubeconfig = `{"apiVersion":"v1","kind":"Config","current-context":"c",
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:6443"}}],
"users":[{"name":"u","user":{"token":"t"}}]}`

func TestRESTConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	NewWithT(t).Expect(os.WriteFile(path, []byte(kubeconfig), 0o600)).To(Succeed())
	tests := []struct {
		name      string
		given     Options
		wantQPS   float32
		wantBurst int
	}{
		{"no limit by default", Options{}, -1, 0},
		{"a limit", Options{QPS: 20, Burst: 30}, 20, 30},
		{"a limit without burst", Options{QPS: 20}, 20, 40},
		{"a low limit without burst", Options{QPS: 0.1}, 0.1, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			test.given.Kubeconfig = path
			config, err := test.given.RESTConfig("convoy-test")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(config.Host).To(Equal("https://127.0.0.1:6443"))
			g.Expect(config.UserAgent).To(Equal("convoy-test/" + Version))
			g.Expect(config.QPS).To(Equal(test.wantQPS))
			g.Expect(config.Burst).To(Equal(test.wantBurst))
			g.Expect(config.ContentType).To(BeEmpty(), "JSON")

			builtIn := BuiltIn(config)
			g.Expect(builtIn.ContentType).To(ContainSubstring("protobuf"))
			g.Expect(builtIn.AcceptContentTypes).To(ContainSubstring("application/json"))
			g.Expect(config.ContentType).To(BeEmpty(), "the original is left as it is")
		})
	}
	for _, missing := range []string{"", filepath.Join(t.TempDir(), "none")} {
		t.Setenv("KUBERNETES_SERVICE_HOST", "")
		_, err := (&Options{Kubeconfig: missing}).RESTConfig("convoy-test")
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("host cluster")))
	}
}

func TestEndpointsServeUntilTheEnd(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "convoy_test", Help: "A test."}))
	var address net.Addr
	listening := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, "127.0.0.1:0", NewEndpoints("", registry).handler(), func(listener net.Listener) net.Listener {
			address = listener.Addr()
			close(listening)
			return listener
		})
	}()
	<-listening
	response, err := http.Get(fmt.Sprintf("http://%s/metrics", address))
	g.Expect(err).NotTo(HaveOccurred())
	body, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
	g.Expect(string(body)).To(ContainSubstring("convoy_test 0"))

	taken := NewEndpoints(address.String(), registry)
	g.Expect(taken.Run(t.Context())).NotTo(Succeed(), "the address is in use")

	stop()
	g.Expect(<-ended).To(Succeed())
	_, err = http.Get(fmt.Sprintf("http://%s/livez", address))
	g.Expect(err).To(HaveOccurred())
}
