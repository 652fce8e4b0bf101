// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/controllermanager/internal/options"
	"kumodo.io/convoy/fetch"
	"kumodo.io/convoy/internal/shard"
)

// writesOf starts a server that counts what is written to it, and gives a kubeconfig.
func writesOf(t *testing.T) (written *atomic.Int64, kubeconfig string) {
	written = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			written.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	NewWithT(t).Expect(clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: "host",
		Contexts:       map[string]*clientcmdapi.Context{"host": {Cluster: "host"}},
		Clusters:       map[string]*clientcmdapi.Cluster{"host": {Server: server.URL}},
	}, kubeconfig)).To(Succeed())
	return written, kubeconfig
}

// closeFence has the fence closed, until the test is over, by a replica that was away for too
// long and whose work does not stop.
func closeFence(t *testing.T, fence *shard.Fence) {
	g := NewWithT(t)
	clock := clocktesting.NewFakeClock(time.Now())
	m, err := shard.NewManager(shard.Options{
		Client: kubefake.NewClientset(), Component: "test", Identity: "a", Shards: 1, Clock: clock, Fence: fence,
	})
	g.Expect(err).NotTo(HaveOccurred())
	stop := make(chan struct{})
	m.Subscribe(func(_, lost []int) {
		if len(lost) > 0 {
			<-stop
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() { close(stop); cancel(); <-done })
	g.Eventually(func() bool { return m.Owns(0) }).WithTimeout(30 * time.Second).Should(BeTrue())
	g.Expect(fence.Check()).To(Succeed())
	clock.Step(shard.DefaultLeaseDuration)
	g.Expect(fence.Check()).To(MatchError(shard.ErrLeaseRanOut))
}

func TestTheFenceStandsBeforeHostAndTargets(t *testing.T) {
	g := NewWithT(t)
	written, kubeconfig := writesOf(t)
	o := options.New()
	o.Process.Kubeconfig = kubeconfig
	config, err := NewConfig(o)
	g.Expect(err).NotTo(HaveOccurred())
	m, err := (&CompletedConfig{Config: config, installation: "i", registry: prometheus.NewRegistry()}).New()
	g.Expect(err).NotTo(HaveOccurred())
	target, err := m.connections(nil).Connect(t.Context(), &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "here"}, Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster},
	})
	g.Expect(err).NotTo(HaveOccurred())
	toHost := func() error {
		_, err := config.convoy.CoreV1alpha1().Releases("team").UpdateStatus(t.Context(),
			&corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}}, metav1.UpdateOptions{})
		return err
	}
	toTarget := func() error {
		return target.REST().Put().AbsPath("/api/v1/namespaces/team/configmaps/a").Body([]byte("{}")).Do(t.Context()).Error()
	}
	g.Expect(toHost()).To(Succeed())
	g.Expect(toTarget()).To(Succeed())
	g.Expect(written.Load()).To(Equal(int64(2)))

	closeFence(t, config.fence)
	g.Expect(toHost()).To(MatchError(shard.ErrLeaseRanOut))
	g.Expect(toTarget()).To(MatchError(shard.ErrLeaseRanOut))
	g.Expect(written.Load()).To(Equal(int64(2)))
	g.Expect(target.REST().Get().AbsPath("/api/v1/namespaces/team/configmaps/a").Do(t.Context()).Error()).To(Succeed(), "reads pass")
}

// asked is a Fetcher that remembers since when an answer was to be.
type asked struct {
	fetch.Fetcher
	since time.Time
}

func (a *asked) Resolve(_ context.Context, want fetch.Want) (revision string, checkedAt time.Time, err error) {
	a.since = want.Since
	return "", time.Time{}, nil
}

// What is known of a branch from the time before another had the shard is older than what
// the other may have delivered.
func TestRevisionsAreLookedAtAnewAfterAGain(t *testing.T) {
	g := NewWithT(t)
	m := &Manager{}
	known := &asked{}
	resolve := func(since time.Time) time.Time {
		_, _, err := fetcher{known, &m.gained}.Resolve(t.Context(), fetch.Want{Since: since})
		g.Expect(err).NotTo(HaveOccurred())
		return known.since
	}
	g.Expect(resolve(time.Time{})).To(BeZero())
	gained := time.Now()
	m.gained.Store(&gained)
	g.Expect(resolve(time.Time{})).To(Equal(gained))
	g.Expect(resolve(gained.Add(-time.Second))).To(Equal(gained))
	g.Expect(resolve(gained.Add(time.Second))).To(Equal(gained.Add(time.Second)), "a later request goes on counting")
}
