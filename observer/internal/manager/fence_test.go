// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	corev1alpha1ac "kumodo.io/convoy/client/applyconfiguration/core/v1alpha1"
	"kumodo.io/convoy/internal/shard"
	"kumodo.io/convoy/observer/internal/options"
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

// closeFence has the fence closed, until the test is over, by somebody who takes the Lease of
// a shard on which the work does not stop.
func closeFence(t *testing.T, m *Manager) {
	g := NewWithT(t)
	stop := make(chan struct{})
	m.shards.Subscribe(func(_, lost []int) {
		if len(lost) > 0 {
			<-stop
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.shards.Run(ctx) }()
	t.Cleanup(func() { close(stop); cancel(); <-done })
	g.Eventually(func() bool { return m.shards.Owns(0) }).WithTimeout(30 * time.Second).Should(BeTrue())
	g.Expect(m.config.fence.Check()).To(Succeed())

	lease, err := m.config.kube.CoordinationV1().Leases(shard.DefaultNamespace).Get(t.Context(), leaseComponent+"-0", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	lease.Spec.HolderIdentity = ptr.To("another")
	kube, ok := m.config.kube.(*kubefake.Clientset)
	g.Expect(ok).To(BeTrue())
	kube.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, lease.Name, errors.New("another wrote it"))
	})
	g.Expect(kube.Tracker().Update(coordinationv1.SchemeGroupVersion.WithResource("leases"), lease, shard.DefaultNamespace)).To(Succeed())
	g.Eventually(m.config.fence.Check).WithTimeout(30 * time.Second).Should(MatchError(shard.ErrLeaseRanOut))
}

// fencedManager makes a manager on a host that counts what is written to it; Leases are kept
// elsewhere.
func fencedManager(t *testing.T) (m *Manager, written *atomic.Int64) {
	g := NewWithT(t)
	written, kubeconfig := writesOf(t)
	o := options.New()
	o.Process.Kubeconfig = kubeconfig
	config, err := NewConfig(o)
	g.Expect(err).NotTo(HaveOccurred())
	config.kube = kubefake.NewClientset()
	m, err = (&CompletedConfig{Config: config, installation: "i", registry: prometheus.NewRegistry()}).New(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	return m, written
}

func TestTheFenceStandsBeforeTheHost(t *testing.T) {
	m, written := fencedManager(t)
	release := &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}}
	inventory := &corev1alpha1.ReleaseInventory{ObjectMeta: release.ObjectMeta}
	releases := m.host.Client.CoreV1alpha1().Releases("team")
	writes := map[string]func() error{
		"health": func() error {
			_, err := m.host.Client.CoreV1alpha1().ReleaseInventories("team").UpdateStatus(t.Context(), inventory, metav1.UpdateOptions{})
			return err
		},
		"drift": func() error {
			_, err := releases.ApplyStatus(t.Context(), corev1alpha1ac.Release("a", "team"), metav1.ApplyOptions{FieldManager: component, Force: true})
			return err
		},
		"a sync": func() error {
			_, err := releases.Sync(t.Context(), "a", corev1alpha1.ReleaseSyncOptions{})
			return err
		},
		"the end of a hook": func() error {
			_, err := releases.UpdateLifecycle(t.Context(), "a", release, metav1.UpdateOptions{})
			return err
		},
	}
	g := NewWithT(t)
	for name, write := range writes {
		g.Expect(write()).To(Succeed(), name)
	}
	g.Expect(written.Load()).To(BeEquivalentTo(len(writes)))

	closeFence(t, m)
	for name, write := range writes {
		g.Expect(write()).To(MatchError(shard.ErrLeaseRanOut), name)
	}
	g.Expect(written.Load()).To(BeEquivalentTo(len(writes)))
	_, err := releases.Get(t.Context(), "a", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred(), "reads pass")
}

// A dry run, of a drift loop or of somebody who asks for a preview, writes nothing.
func TestTheFenceLetsDryRunsOnTargetsThrough(t *testing.T) {
	g := NewWithT(t)
	m, _ := fencedManager(t)
	target, err := m.host.Connector.Connect(t.Context(), &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "here"}, Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster},
	})
	g.Expect(err).NotTo(HaveOccurred())
	closeFence(t, m)
	put := target.REST().Put().AbsPath("/api/v1/namespaces/team/configmaps/a").Param("dryRun", "All").Body([]byte("{}"))
	g.Expect(put.Do(t.Context()).Error()).To(Succeed())
}
