// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"context"
	"errors"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// failingSecrets gives an error for every Secret.
type failingSecrets struct{ err error }

func (s failingSecrets) Secret(context.Context, string, string) (map[string][]byte, error) {
	return nil, s.err
}

func TestConnectIsShared(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	secrets := kubeconfigSecret(f.kubeconfig(t, canary))
	clock := newFakeClock()
	connector := New(Options{Secrets: secrets, Clock: clock})

	first, err := connector.Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	again, err := connector.Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(first))
	g.Expect(secrets.readSoFar()).To(Equal(1), "a Secret is not read at every use")

	clock.Step(recheckInterval)
	again, err = connector.Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(first), "nothing has changed")
	g.Expect(secrets.readSoFar()).To(Equal(2))
	g.Expect(f.asked()).To(BeEmpty(), "connecting asks nothing of the target")
}

func TestConnectAnew(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(f *fakeCluster, secrets *fakeSecrets, connector *Connector, cluster *corev1alpha1.Cluster)
		want   bool
	}{{
		name:   "nothing",
		change: func(*fakeCluster, *fakeSecrets, *Connector, *corev1alpha1.Cluster) {},
	}, {
		name: "status and metadata",
		change: func(_ *fakeCluster, _ *fakeSecrets, _ *Connector, c *corev1alpha1.Cluster) {
			c.Status.Version, c.ResourceVersion, c.Generation = "v1.37.2", "7", 2
		},
	}, {
		name: "another Secret",
		change: func(f *fakeCluster, s *fakeSecrets, _ *Connector, _ *corev1alpha1.Cluster) {
			s.set("other", map[string][]byte{"kubeconfig": []byte("x")})
		},
	}, {
		name: "the Secret",
		change: func(f *fakeCluster, s *fakeSecrets, _ *Connector, _ *corev1alpha1.Cluster) {
			s.set("target", map[string][]byte{"kubeconfig": f.kubeconfig(t, "another")})
		},
		want: true,
	}, {
		name:   "the spec",
		change: func(_ *fakeCluster, _ *fakeSecrets, _ *Connector, c *corev1alpha1.Cluster) { c.Spec.QPS = 5 },
		want:   true,
	}, {
		name:   "another Cluster of the same name",
		change: func(_ *fakeCluster, _ *fakeSecrets, _ *Connector, c *corev1alpha1.Cluster) { c.UID = "uid-2" },
		want:   true,
	}, {
		name:   "forgotten",
		change: func(_ *fakeCluster, _ *fakeSecrets, n *Connector, _ *corev1alpha1.Cluster) { n.Forget("web", "edge") },
		want:   true,
	}, {
		name:   "another one forgotten",
		change: func(_ *fakeCluster, _ *fakeSecrets, n *Connector, _ *corev1alpha1.Cluster) { n.Forget("web", "other") },
	}} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			secrets := kubeconfigSecret(f.kubeconfig(t, canary))
			clock := newFakeClock()
			connector := New(Options{Secrets: secrets, Clock: clock})
			cluster := agentless()
			before, err := connector.Connect(t.Context(), cluster)
			g.Expect(err).NotTo(HaveOccurred())

			test.change(f, secrets, connector, cluster)
			clock.Step(recheckInterval)
			after, err := connector.Connect(t.Context(), cluster)

			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(after != before).To(Equal(test.want))
			_, err = before.Probe(t.Context())
			g.Expect(err).NotTo(HaveOccurred(), "a connection that was given out goes on working")
		})
	}
}

func TestNewCredentialsAreUsed(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	f.token = "new"
	secrets := kubeconfigSecret(f.kubeconfig(t, "old"))
	clock := newFakeClock()
	connector := New(Options{Secrets: secrets, Clock: clock})
	connection, err := connector.Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = connection.Probe(t.Context())
	g.Expect(err).To(MatchError(ErrUnauthenticated))

	secrets.set("target", map[string][]byte{"kubeconfig": f.kubeconfig(t, "new")})
	clock.Step(recheckInterval)
	connection, err = connector.Connect(t.Context(), agentless())

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(connection.Probe(t.Context())).To(HaveField("Version", "v1.37.2"))
}

func TestConnectModes(t *testing.T) {
	f := newFakeCluster(t)
	inCluster := &rest.Config{Host: f.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, BearerToken: canary}
	for _, test := range []struct {
		name    string
		options Options
		spec    corev1alpha1.ClusterSpec
		want    string
	}{
		{"inCluster", Options{InCluster: inCluster}, corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster}, ""},
		{"inCluster by default", Options{InCluster: inCluster}, corev1alpha1.ClusterSpec{}, ""},
		{"inCluster without", Options{}, corev1alpha1.ClusterSpec{}, "no connection of its own"},
		{"agentless by default", Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary))},
			corev1alpha1.ClusterSpec{Agentless: agentless().Spec.Agentless}, ""},
		{"agentless without", Options{}, corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless}, "spec.agentless is required"},
		{"agent", Options{}, corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgent}, `spec.mode "agent" is not built yet`},
		{"unknown auth type", Options{}, corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless,
			Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{Type: "magic"}}},
			`spec.agentless.auth.type "magic" is not registered, there is: kubeconfig`},
		{"proxy with credentials", Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary))},
			agentless(func(c *corev1alpha1.Cluster) { c.Spec.Agentless.ProxyURL = "http://a:" + canary + "@b" }).Spec,
			"spec.agentless.proxyURL must not hold credentials"},
		{"proxy of another scheme", Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary))},
			agentless(func(c *corev1alpha1.Cluster) { c.Spec.Agentless.ProxyURL = "ftp://b" }).Spec,
			"spec.agentless.proxyURL must be a URL of scheme http or https or socks5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			cluster := agentless(func(c *corev1alpha1.Cluster) { c.Spec = test.spec })
			connection, err := New(test.options).Connect(t.Context(), cluster)
			if test.want != "" {
				g.Expect(err).To(MatchError(ErrInvalid))
				g.Expect(err).To(MatchError(ContainSubstring(test.want)))
				g.Expect(err.Error()).NotTo(ContainSubstring(canary))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(connection.Probe(t.Context())).To(HaveField("Version", "v1.37.2"))
			g.Expect(connection.Server()).To(Equal(f.URL))
			g.Expect(f.lastRequest().Header.Get("Authorization")).To(Equal("Bearer " + canary))
		})
	}
}

func TestTLS(t *testing.T) {
	for _, test := range []struct {
		name       string
		kubeconfig func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)
		cluster    func(*corev1alpha1.Cluster)
		want       error
	}{{
		name:       "a CA that is not the server's",
		kubeconfig: func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthorityData = nil },
		want:       ErrUnreachable,
	}, {
		name: "insecure as the kubeconfig says",
		kubeconfig: func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.CertificateAuthorityData, c.InsecureSkipTLSVerify = nil, true
		},
	}, {
		name:    "server name of the Cluster",
		cluster: func(c *corev1alpha1.Cluster) { c.Spec.Agentless.TLSServerName = "example.com" },
	}, {
		name:    "server name that the certificate lacks",
		cluster: func(c *corev1alpha1.Cluster) { c.Spec.Agentless.TLSServerName = "other.test" },
		want:    ErrUnreachable,
	}} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			cluster := agentless()
			if test.cluster != nil {
				test.cluster(cluster)
			}
			kubeconfig := f.kubeconfig(t, canary)
			if test.kubeconfig != nil {
				kubeconfig = f.kubeconfig(t, canary, test.kubeconfig)
			}
			connection, err := New(Options{Secrets: kubeconfigSecret(kubeconfig)}).Connect(t.Context(), cluster)
			g.Expect(err).NotTo(HaveOccurred())

			_, err = connection.Probe(t.Context())

			if test.want == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(test.want))
			g.Expect(f.asked()).To(BeEmpty())
		})
	}
}

func TestConnectRelease(t *testing.T) {
	named := func(r *corev1alpha1.Release) { r.Spec.ServiceAccountName = "deployer" }
	elsewhere := func(r *corev1alpha1.Release) { r.Spec.TargetNamespace = "prod" }
	byCluster := func(c *corev1alpha1.Cluster) {
		c.Spec.Impersonate = &corev1alpha1.Impersonation{ServiceAccount: corev1alpha1.ServiceAccountReference{Namespace: "tenants", Name: "default"}}
	}
	for _, test := range []struct {
		name    string
		cluster *corev1alpha1.Cluster
		release *corev1alpha1.Release
		want    string
	}{
		{"nobody", agentless(), release(), ""},
		{"the Release's account, in its own namespace", agentless(), release(named), "system:serviceaccount:web:deployer"},
		{"the Release's account, in its target namespace", agentless(), release(named, elsewhere), "system:serviceaccount:prod:deployer"},
		{"the Cluster's account", agentless(byCluster), release(elsewhere), "system:serviceaccount:tenants:default"},
		{"the Release's goes before the Cluster's", agentless(byCluster), release(named), "system:serviceaccount:web:deployer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			connector := New(Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary))})

			connection, err := connector.ConnectRelease(t.Context(), test.cluster, test.release)
			g.Expect(err).NotTo(HaveOccurred())
			for _, read := range map[string]func() error{
				"dynamic": func() error {
					_, err := connection.Dynamic().Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Get(t.Context(), "a", metav1.GetOptions{})
					return err
				},
				"metadata": func() error {
					_, err := connection.Metadata().Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Get(t.Context(), "a", metav1.GetOptions{})
					return err
				},
			} {
				g.Expect(read()).To(HaveOccurred())
				g.Expect(f.lastRequest().Header.Get("Impersonate-User")).To(Equal(test.want))
				g.Expect(f.lastRequest().Header.Get("Authorization")).To(Equal("Bearer " + canary))
			}
		})
	}
}

func TestIdentitiesShareDiscovery(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connector := New(Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary))})
	seen := map[*Connection]bool{}
	for _, account := range []string{"", "a", "b", "a"} {
		connection, err := connector.ConnectRelease(t.Context(), agentless(), release(func(r *corev1alpha1.Release) { r.Spec.ServiceAccountName = account }))
		g.Expect(err).NotTo(HaveOccurred())
		seen[connection] = true
		_, err = connection.Mapping(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(seen).To(HaveLen(3), "one connection for each identity")
	g.Expect(f.asked()).To(Equal([]string{"GET /version", "GET /api", "GET /apis"}))
}

func TestImpersonationIsNotStacked(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connector := New(Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary, func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		u.Impersonate = "limited"
	}))})

	connection, err := connector.ConnectRelease(t.Context(), agentless(), release())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = connection.Probe(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f.lastRequest().Header.Get("Impersonate-User")).To(Equal("limited"))

	_, err = connector.ConnectRelease(t.Context(), agentless(), release(func(r *corev1alpha1.Release) { r.Spec.ServiceAccountName = "admin" }))
	g.Expect(err).To(MatchError(ErrInvalid), "a Release must not step out of the identity that the kubeconfig sets")
}

func TestTerminatingReleaseKeepsItsConnection(t *testing.T) {
	terminating := func(r *corev1alpha1.Release) { r.DeletionTimestamp = &metav1.Time{Time: newFakeClock().Now()} }
	for _, test := range []struct {
		name    string
		release *corev1alpha1.Release
		cluster *corev1alpha1.Cluster
		before  bool
		want    bool
	}{
		{"terminating", release(terminating), agentless(), true, true},
		{"terminating, and so is the Cluster", release(terminating), agentless(func(c *corev1alpha1.Cluster) { c.Generation = 2 }), true, true},
		{"not terminating", release(), agentless(), true, false},
		{"never connected", release(terminating), agentless(), false, false},
		{"another Cluster by now", release(terminating), agentless(func(c *corev1alpha1.Cluster) { c.Spec.QPS = 3 }), true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			secrets := kubeconfigSecret(f.kubeconfig(t, canary))
			clock := newFakeClock()
			connector := New(Options{Secrets: secrets, Clock: clock})
			if test.before {
				_, err := connector.ConnectRelease(t.Context(), agentless(), release())
				g.Expect(err).NotTo(HaveOccurred())
			}
			secrets.set("target", nil)
			clock.Step(recheckInterval)

			connection, err := connector.ConnectRelease(t.Context(), test.cluster, test.release)

			if !test.want {
				g.Expect(err).To(MatchError(ErrInvalid))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(connection.Probe(t.Context())).To(HaveField("Version", "v1.37.2"))
			_, err = connector.Connect(t.Context(), test.cluster)
			g.Expect(err).To(MatchError(ErrInvalid), "for everybody else the Secret is gone")
		})
	}
}

func TestUnreadableSecretIsNoChange(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	away := errors.New("host is away")
	secrets := &switchedSecrets{Secrets: kubeconfigSecret(f.kubeconfig(t, canary))}
	clock := newFakeClock()
	connector := New(Options{Secrets: secrets, Clock: clock})
	before, err := connector.Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())

	secrets.err = away
	clock.Step(recheckInterval)
	_, err = connector.Connect(t.Context(), agentless())
	g.Expect(err).To(MatchError(away))

	secrets.err = nil
	after, err := connector.Connect(t.Context(), agentless())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after).To(BeIdenticalTo(before))
}

// switchedSecrets fails while err is set.
type switchedSecrets struct {
	Secrets
	err error
}

func (s *switchedSecrets) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	return s.Secrets.Secret(ctx, namespace, name)
}

func TestRateLimit(t *testing.T) {
	for _, test := range []struct {
		name               string
		qps, burst         int32
		wantQPS, wantBurst int
	}{
		{"none", 0, 0, -1, 0},
		{"none, whatever the burst", 0, 7, -1, 0},
		{"burst by default", 20, 0, 20, 40},
		{"both", 20, 30, 20, 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			connector := New(Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary))})
			cluster := agentless(func(c *corev1alpha1.Cluster) { c.Spec.QPS, c.Spec.Burst = test.qps, test.burst })
			own, err := connector.Connect(t.Context(), cluster)
			g.Expect(err).NotTo(HaveOccurred())
			other, err := connector.ConnectRelease(t.Context(), cluster, release(func(r *corev1alpha1.Release) { r.Spec.ServiceAccountName = "a" }))
			g.Expect(err).NotTo(HaveOccurred())

			g.Expect(own.Config().QPS).To(BeEquivalentTo(test.wantQPS))
			g.Expect(own.Config().Burst).To(Equal(test.wantBurst))
			if test.qps == 0 {
				g.Expect(own.Config().RateLimiter).To(BeNil())
				return
			}
			g.Expect(own.Config().RateLimiter.QPS()).To(BeEquivalentTo(test.wantQPS))
			g.Expect(other.Config().RateLimiter).To(BeIdenticalTo(own.Config().RateLimiter), "one limit for the cluster, not for each identity")
		})
	}
}

// Requests that fail at once do not wait for their turn.
func TestRateLimitDuringAnOutage(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connection, _ := connect(t, f)
	config := connection.Config()
	limit(config, connection.breaker, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	g.Expect(config.RateLimiter.Wait(ctx)).To(Succeed())
	cancel()
	g.Expect(config.RateLimiter.Wait(ctx)).NotTo(Succeed(), "the next one has to wait, and may not")

	f.Close()
	_, err := connection.Probe(t.Context())
	g.Expect(err).To(MatchError(ErrUnreachable))
	g.Eventually(connection.Outage).WithTimeout(eventually).ShouldNot(BeNil())
	g.Expect(config.RateLimiter.Wait(ctx)).To(Succeed())
}

func TestConcurrentUse(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connector := New(Options{Secrets: kubeconfigSecret(f.kubeconfig(t, canary))})
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			connection, err := connector.Connect(t.Context(), agentless())
			if err == nil {
				_, err = connection.Mapping(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
			}
			errs[i] = err
		})
	}
	wg.Wait()
	g.Expect(errs).To(HaveEach(BeNil()))
	g.Expect(f.asked()).To(HaveLen(3), "all of them wait for one discovery")
}
